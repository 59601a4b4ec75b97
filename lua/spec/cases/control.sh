# shellcheck shell=bash disable=SC2154
# The control socket.

status() { control "$@" -o /dev/null -w '%{http_code}'; }
state() { control /state | field "$1"; }
crc() { printf '%s' "$1" | gzip -c | tail -c8 | od -An -tu4 -N4 | tr -d ' '; }

check "empty" "0 0 0" "$(state digest) $(state entries) $(state rev)"
check "revision and no generation" "r1 null" "$(state revision) $(state generation)"
put h a.test '{"locations":[]}'
put s a.test x
one=$(($(crc "h${T}a.test${T}{\"locations\":[]}") + $(crc "s${T}a.test${T}x")))
check "digest" "$one 2 2" "$(state digest) $(state entries) $(state rev)"
put h a.test '{"locations":[]}'
check "the same again counts as a batch and changes nothing" "$one 2 3" "$(state digest) $(state entries) $(state rev)"
put h a.test '{"locations":[],"x":1}'
check "replaced" "$(($(crc "h${T}a.test${T}{\"locations\":[],\"x\":1}") + $(crc "s${T}a.test${T}x"))) 2" "$(state digest) $(state entries)"
put s empty ''
check "an empty value is a value" 3 "$(state entries)"
drop s empty
drop s a.test
drop s absent
drop h a.test
check "all removed" "0 0" "$(state digest) $(state entries)"

rev=$(state rev)
post "=s${T}twice${T}1" "-s${T}twice" "=s${T}twice${T}2" "=s${T}other${T}3"
check "one key several times in a batch: several revisions" "$((rev + 3)) 2" "$(state rev) $(control '/record?t=s&k=twice')"
check "keys" "s${T}other s${T}twice" "$(control /keys | sort | paste -sd' ')"
check "a record" 2 "$(control '/record?t=s&k=twice')"
put h 'x y&z' '{"a":"b"}'
check "a record with an odd key" '{"a":"b"}' "$(control '/record?t=h&k=x%20y%26z')"
check "no record, no table, a certificate" "404 400 400 403" "$(status '/record?t=s&k=no') $(status '/record?t=rev&k=x') $(status '/record') $(status '/record?t=c&k=x')"
check "unknown path, wrong methods" "404 405 405" "$(status /x) $(status /live) $(status /state -X POST)"

bad=$(printf '%s\n' "=s${T}good${T}1" "junk" "=s${T}novalue" "=x${T}k${T}v" "-s${T}key${T}value" "=s${T}${T}v" "" "=s${T}good2${T}1" | control /live --data-binary @- -w '%{http_code}')
check "unreadable lines: 400" 400 "${bad: -3}"
check "they are named" "2 3 4 5 6" "$(grep -o '"line":[0-9]*' <<<"$bad" | cut -d: -f2 | sort -n | paste -sd' ')"
check "the others are applied" "1 1" "$(control '/record?t=s&k=good') $(control '/record?t=s&k=good2')"
check "no newline at the end, and CR LF" "1 2" "$(printf '=s\tcr\t1\r\n=s\tlast\t2' | control /live --data-binary @- -o /dev/null; control '/record?t=s&k=cr') $(control '/record?t=s&k=last')"
check "an empty batch" 200 "$(status /live -X POST -d '')"

check "generation" "g-1 g-1" "$(control /generation -d g-1 | field generation) $(state generation)"
check "a marker that is too long or empty" "400 400" "$(status /generation -d "$(printf 'x%.0s' {1..65})") $(status /generation -X POST -d '')"

check "what is meant for this master's workers is taken" 200 "$(status /live -X POST -d '' -H "Narthex-Master: $(<"$PREFIX/nginx.pid")")"
check "what is meant for another's is not" "421 421" "$(status /live -H 'Narthex-Master: 1' -d "=s${T}stray${T}1") $(status /audit -H 'Narthex-Master: x')"
check "and has no effect" 404 "$(status '/record?t=s&k=stray')"

digest=$(state digest)
entries=$(state entries)
check "audit agrees" "$digest $entries" "$(control /audit | field digest) $(control /audit | field entries)"
control '/spec/set?d=configuration_data&k=digest&v=5' >/dev/null
control '/spec/set?d=configuration_data&k=entries&v=5' >/dev/null
check "audit repairs what a killed worker left wrong" "$digest $entries $digest $entries" "$(control /audit | field digest) $(control /audit | field entries) $(state digest) $(state entries)"
check "fill is reported" 13 "$(control /state | grep -o '"capacity":[0-9]*' | wc -l)"
check "no Server header, JSON" "application/json" "$(control /state -o /dev/null -w '%header{server}%header{content-type}')"

big=$(printf 'x%.0s' {1..2000})
for ((i = 0; i < 1000; i++)); do printf '=s\tbig%s\t%s\n' "$i" "$big"; done >"$PREFIX/full"
full=$(control /live --data-binary @"$PREFIX/full" -w '%{http_code}')
check "a full dictionary: 507, through a body on disk" 507 "${full: -3}"
check "errors name line, key and reason" 1 "$(grep -c '"error":"no memory"' <<<"$full")"
check "nothing was evicted" 1 "$(control '/record?t=s&k=good')"
refused=$(grep -o '"line":' <<<"$full" | wc -l)
check "what was stored is counted" "$((entries + 1000 - refused)) $(control /audit | field digest)" "$(state entries) $(state digest)"
post "=s${T}big0${T}${big}${big}${big}"
check "a refused replacement leaves the old value" "${#big}" "$(control '/record?t=s&k=big0' | wc -c)"
check "and the digest is right" "$(control /audit | field digest)" "$(state digest)"
for ((i = 0; i < 1000; i++)); do printf -- '-s\tbig%s\n' "$i"; done | control /live --data-binary @- -o /dev/null
check "room again" 200 "$(printf '=s\tbig0\t%s\n' "$big" | status /live --data-binary @-)"
