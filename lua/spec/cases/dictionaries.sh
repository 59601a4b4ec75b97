# shellcheck shell=bash disable=SC2154,SC2034
# Dictionaries of another size: what they hold moves with a reload, and workers of before go on with theirs.

DICTIONARIES=(configuration_data certificate_data certificate_servers limit_req limit_conn request_metrics otel_spans auth_nonces)
METRICS='"metrics":{"key":"k","time":[5],"length":[10],"size":[10],"unknown":"skip"}'
# moved REVISION SIZE: a configuration in which all of these have a second dictionary of this size; left REVISION SIZE: in which they have it alone.
moved() { places "$1" "$2" ',"former":"%s"'; }
left() { places "$1" "$2" ''; }
places() {
    local name places=
    MORE_DICTS=
    for name in "${DICTIONARIES[@]}"; do
        MORE_DICTS+="lua_shared_dict ${name}_resized $2;"
        # shellcheck disable=SC2059
        places+="${places:+,}\"$name\":{\"name\":\"${name}_resized\"$(printf "$3" "$name")}"
    done
    configure "$1" ',"other"' ",$METRICS,\"dictionaries\":{$places}"
    MORE_DICTS=
}
capacity() { control /state | sed -E "s/.*\"$1\":\{[^}]*\"capacity\":([0-9]*).*/\1/"; }
value() { control "/spec/get?d=$1&k=$2"; }
client='%20%7F%00%00%01'

configure r2 ',"other"' ",$METRICS"
reload r2
complete
backend n/a:80 "$A"
one_route keep.test ''
one_route open.test ''
one_route rpm.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":2}' '' n rpm.test
one_route conn.test '"limits":{"limit_connections":1}' '' n conn.test
check "a bucket is half full" "200 200" "$(answer rpm.test /) $(answer rpm.test /)"
before="$(control /state | field digest) $(control /state | field entries)"

# A request that is held by a worker of before, and others that it has begun to read.
get conn.test /held --max-time 60 >/dev/null &
held=$!
until_is 1 value limit_conn "n%2Fconn.test$client"
exec 7<>"/dev/tcp/127.0.0.1/$HTTP" 8<>"/dev/tcp/127.0.0.1/$HTTP"
printf 'GET / HTTP/1.0\r\nHost: keep' >&7
printf 'GET / HTTP/1.0\r\nHost: open' >&8
moved r3 2m
reload r3
check "records, their digest and the marker are in a larger dictionary" "$before 2097152 1" \
    "$(control /state | field digest) $(control /state | field entries) $(capacity configuration_data) $(control /state | grep -c '"generation":"[0-9a-f]')"
check "which is said, with the former one" 1 "$(control /state | grep -cE '"configuration_data":\{[^}]*"name":"configuration_data_resized"')"
check "the audit agrees" "${before% *}" "$(control /audit | field digest)"
check "routes are served" 200 "$(answer keep.test /)"
check "requests are limited by what was counted before" "200 503" "$(answer rpm.test /) $(answer rpm.test /)"
check "a connection that a worker of before holds counts" 503 "$(answer conn.test /)"
control "/spec/set?d=configuration_data&k=spec_release&v=1" >/dev/null
wait $held
check "until it ends" 200 "$(answer conn.test /)"

one_route open.test '"forbidden":true'
one_route new.test ''
printf '.test\r\n\r\n' >&7
printf '.test\r\n\r\n' >&8
check "a worker of before serves what it held" "$A" "$(port_of <&7)"
check "and knows what has come to be protected since" 1 "$(head -1 <&8 | grep -cE ' (403|503) ')"
exec 7>&- 8>&-
check "what is new is in both, for whoever looks" "200 1" "$(answer new.test /) $(value configuration_data h:new.test | grep -c policies)"
drop h new.test
check "and gone from both" "404 nil" "$(answer new.test /) $(value configuration_data h:new.test)"

requests() { # how many were handed over
    local answer number=0 total=0
    while :; do
        answer=$(control "/requests?done=$number")
        [ -n "$answer" ] || break
        number=$(head -1 <<<"$answer")
        total=$((total + $(tail -n +2 <<<"$answer" | grep -v '^"k"$' | sed -E 's/^\[\[[^]]*\],[0-9]+,(true|false),([0-9]+),.*/\2/' | paste -sd+)))
    done
    sum=$((sum + total))
    echo "$sum" >"$PREFIX/sum"
}
sum=0
all() { requests; cat "$PREFIX/sum"; }
for ((i = 0; i < 500; i++)); do
    requests
    [ "$sum" = 11 ] && break
    read -rt 0.02 <> <(:)
done
check "every request is counted once, those of workers of before as well" 11 "$sum"

# The same configuration again, as a reload on request reads it: what is in the former dictionary is not copied over what is newer.
one_route keep.test '' '"service":"b"'
control '/spec/set?d=configuration_data&k=h:stale.test&v=1' >/dev/null
digest=$(control /state | field digest)
moved r4 2m
reload r4
check "what was copied is not copied again" "$digest 404" "$(control /state | field digest) $(control '/record?t=h&k=stale.test' -o /dev/null -w '%{http_code}')"
left r5 2m
reload r5
check "the former one can be left out" "$digest $digest 2097152" "$(control /state | field digest) $(control /audit | field digest) $(capacity configuration_data)"

# One that is too small for what there is.
fresh
backend n/a:80 "$A"
complete
big=$(printf 'x%.0s' {1..3000})
for ((i = 0; i < 100; i++)); do printf '=u\tusers%s\t{"users":{"%s":"x"}}\n' "$i" "$big"; done | control /live --data-binary @- -o /dev/null
moved r6 128k
reload r6
check "where records have no room the controller has to send them again" null "$(control /state | field generation)"
check "which is in the log" 1 "$(logged 'shared dictionary certificate_data: .* entries have no room in its new size' error)"
