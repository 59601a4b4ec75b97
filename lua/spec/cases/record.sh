# shellcheck shell=bash disable=SC2154
# What records are like, and what becomes of those that are like something else.

FORMAT=$(sed -n 's/.*FORMAT = "\(.*\)".*/\1/p' "$SPEC/../narthex/state/wire.lua")
check "the format is in the state" "$FORMAT" "$(control /state | field format)"
backend n/a:80 "$A"
one_route good.test ''
check "without a marker what is unknown may be on its way" 503 "$(answer no.test /)"
control /generation -d older >/dev/null
check "so it is while the marker is that of another format" 503 "$(answer no.test /)"
check "what is there is used" 200 "$(answer good.test /)"
complete
check "with our own it is unknown" 404 "$(answer no.test /)"

# Strict, as in tests.
one_route unknown.test '"odd":1'
one_route type.test '"proxy_body_size":"1k"'
one_route part.test '"addresses":{"odd":["127.0.0.1"]}'
put h path.test '{"prefix":{"/":0},"policies":[{}],"locations":[{"service":"a","port":"80"}]}'
for kind in unknown type part path; do check "strict: $kind" 404 "$(answer $kind.test /)"; done
check "the field is named" 1 "$(logged 'record h:unknown.test: policies: odd: unknown field, it is ignored' error)"
put b n/b:80 '{"name":"b","endpoints":[["127.0.0.1"]]}'
one_route backend.test '' '"service":"b"'
check "strict: a part of a backend" 503 "$(answer backend.test / | cut -d' ' -f1)"
check "and which" 1 "$(logged 'record b:n/b:80: endpoints: expected a number, got a nil' error)"

# As NGINX runs otherwise.
configure r2 ',"other"' ',"strict_records":false'
reload r2
one_route unknown2.test '"odd":1'
check "an unknown field changes nothing" "200 200" "$(answer unknown.test /) $(answer unknown2.test /)"
check "and is reported once" 1 "$(logged 'records: odd: unknown field, it is left out' error)"
one_route type.test '"proxy_body_size":"1k"'
check "nor does one of another type" 200 "$(answer type.test /)"
for part in '"addresses":{"odd":["127.0.0.1"]}' '"addresses":{"denylist_source_range":"127.0.0.1"}' '"addresses":7' '"password":{}' '"verified":1' \
    '"auth_tls_match_cn":{}' '"denied":"no"' '"external_auth":{"auth_url":"http://127.0.0.1:1/","host":"x","cache":{}}'; do
    one_route protects.test "$part"
    check "what is about access closes the location: $part" 503 "$(answer protects.test /)"
done
one_route cors.test '"cors":{"cors_allow_origin":"https://a.test","headers":[]}'
check "a part that has a fault is left out as a whole" "" "$(get cors.test / -H 'Origin: https://b.test' -o /dev/null -w '%header{access-control-allow-origin}')"
put h path.test '{"prefix":{"/":0},"policies":[{}],"locations":[{"service":"a","port":"80"}]}'
check "what a record needs it must have" 404 "$(answer path.test /)"
