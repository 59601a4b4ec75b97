# shellcheck shell=bash disable=SC2154
# The requests of single hosts for readers: who sees which, how many wait, and what is left of it.

complete
backend n/a:80 "$A"
put h tap.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h '*.wild.test' '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
tap() { control /tap --data-binary "$1"$'\n'"${2:-}"; } # NAME [AFTER]
last() { head -1 | cut -d' ' -f1; }
# Here every server has the hook of the log; a rendered configuration has it where routes are.
lines() { tail -n +2 | grep '"backend"'; }

get tap.test /before >/dev/null
begin=$(tap tap.test | last)
check "a reader begins with what comes" "" "$(tap tap.test "$begin" | lines)"
get tap.test '/seen?a=b' -A 'an "agent"' >/dev/null
get other.test /other >/dev/null
seen=$(tap tap.test "$begin")
check "it gets the requests of its host" "\\/seen?a=b" "$(lines <<<"$seen" | field target)"
check "with what happened" "1 1 1" \
    "$(lines <<<"$seen" | grep -c '"status":200') $(grep -c "\"upstream\":\"127.0.0.1:$A\"" <<<"$seen") $(lines <<<"$seen" | grep -c 'an \\"agent\\"')"
check "none is lost" 0 "$(head -1 <<<"$seen" | cut -d' ' -f2)"
check "another reader gets them as well" "\\/seen?a=b" "$(tap tap.test "$begin" | lines | field target)"
check "each only once" "" "$(tap tap.test "$(last <<<"$seen")" | lines)"
check "a number that is not known yet is none" "" "$(tap tap.test 99999999999999 | lines)"
begin=$(tap tap.test | last)
get tap.test /traced -H 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' >/dev/null
check "with the trace that it is a part of" 0af7651916cd43dd8448eb211c80319c "$(tap tap.test "$begin" | lines | field trace_id)"
one_route moved.test '"redirects":{"answer":[301,"http://a.test/"]}'
begin=$(tap moved.test | last)
get moved.test / >/dev/null
check "and why no endpoint has answered" redirect "$(tap moved.test "$begin" | tail -n +2 | field reason)"

wild=$(tap '*.wild.test' | last) all=$(tap '*' | last)
get a.wild.test /wild >/dev/null
get tap.test /bytes -A $'\xff' >/dev/null
check "a reader of a wildcard" "\\/wild" "$(tap '*.wild.test' "$wild" | lines | field target)"
check "a reader of every host" "a.wild.test tap.test" "$(tap '*' "$all" | lines | field host | tr '\n' ' ' | sed 's/ $//')"
check "bytes that are no text" 1 "$(tap '*' "$all" | lines | grep -c '"user_agent":"?"')"

begin=$(tap tap.test | last)
seq 600 | sed "s|.*|url = \"http://127.0.0.1:$HTTP/n-&\"\noutput = /dev/null|" | curl -s -H 'Host: tap.test' -K - >/dev/null
many=$(tap tap.test "$begin")
check "of two lines a request a thousand wait, the newest ones" "1000 200 \\/n-600" \
    "$(tail -n +2 <<<"$many" | wc -l) $(head -1 <<<"$many" | cut -d' ' -f2) $(tail -1 <<<"$many" | field target)"
check "what is no question" "400 400" "$(control /tap -d 'no line feed' -o /dev/null -w '%{http_code}') $(control /tap -d '' -o /dev/null -w '%{http_code}')"
