# shellcheck shell=bash disable=SC2154
# Request metrics: what is counted, under which labels, and how it is handed over.

complete
METRICS='"metrics":{"key":"k","time":[5,50,500],"length":[10,100],"size":[10,1000],"unknown":"UNKNOWN"}'
records() {
    backend n/a:80 "$A"
    backend n/slow:80 "$SLOW"
    backend n/flaky:80 "$DEAD" "$A"
    backend n/canary:80 "$B"
    put b n/main:80 '{"name":"n-main-80","endpoints":[["127.0.0.1",'"$A"']],"alternative":{"backend":"n/canary:80","canary_by_header":"Canary"}}'
    put h count.test '{"prefix":{"/":0,"/slow/":1,"/flaky/":2,"/main/":3,"/none/":4},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/slow","service":"slow","port":"80"},{"path":"/flaky","service":"flaky","port":"80"},{"path":"/main","service":"main","port":"80"},{"path":"/none","service":"none","port":"80"}]}'
    put h '*.wild.test' '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"wild"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
    put h part.test '{"prefix":{"/in/":0},"policies":[{"namespace":"n","ingress":"part"}],"locations":[{"path":"/in","service":"a","port":"80"}]}'
}
# The line of the number, which is that of the last answer, in a file: most of this runs in subshells.
: >"$PREFIX/number"
number() { cat "$PREFIX/number"; }
# What waits, without the line that names the bounds. What came before is acknowledged.
fetch() {
    local answer
    answer=$(control "/requests?done=$(number)")
    [ -z "$answer" ] || head -1 <<<"$answer" >"$PREFIX/number"
    tail -n +2 <<<"$answer" | grep -v '^"k"$'
}
# until_handed COUNT: waits until so many requests were handed over, in however many parts, and leaves the lines in `handed`.
sums() { sed -E 's/^\[(\[[^]]*\],[0-9]+,(true|false)),([0-9]+),.*/\1 \3/' "$PREFIX/handed" | awk '{ n[$1] += $2 } END { for (i in n) print i "," n[i] }'; }
until_handed() {
    local i
    : >"$PREFIX/handed"
    for ((i = 0; i < 500; i++)); do
        fetch >>"$PREFIX/handed"
        [ "$(sums | awk -F, '{ n += $NF } END { print n + 0 }')" -ge "$1" ] && break
        read -rt 0.01 <> <(:)
    done
}
labels() { # COUNT: the series of the next so many requests, with the number of requests of each
    until_handed "$1"
    sums | LC_ALL=C sort
}
shows() { # PATTERN: whether the line of the next request, alone, matches
    until_handed 1
    grep -cE -- "$1" "$PREFIX/handed"
}
# Histograms of one observation: sum, index of the bucket, 1.
ANY='\[[0-9]+,[0-9],1\]'
with() { # UNKNOWN REVISION
    configure "$2" ',"other"' ",${METRICS/UNKNOWN/$1}"
    reload "$2"
    records
}

get count.test / >/dev/null
check "nothing is counted while it is off" "" "$(fetch)"

with skip r2
for _ in 1 2 3; do get count.test /x >/dev/null; done
check "requests of a route are one series" '["n","i","a","\/","count.test","","GET"],200,false,3' "$(labels 3)"
check "what is acknowledged is gone" "" "$(fetch)"
get count.test /x >/dev/null
check "with a histogram each of times, and of sizes" 1 "$(shows ",1,\[$ANY,$ANY,$ANY,$ANY,\[[0-9]+,[12],1\],\[[0-9]+,2,1\],\[[0-9]+,1,1\]\]\]$")"
get count.test /slow/ >/dev/null
check "a slow answer is in a higher bucket, its connection is not" 1 "$(shows ",1,\[\[[0-9]+,[1-3],1\],\[[0-9]+,[1-3],1\],\[[0-9]+,[1-3],1\],$ANY,")"
for _ in 1 2; do
    get count.test /flaky/ >/dev/null
    check "a retried request counts once, with the times of the last try" 1 "$(shows "\"flaky\".*,200,false,1,\[$ANY,$ANY,$ANY,$ANY,")"
done
get count.test /none/ >/dev/null
check "without an endpoint there are no times of one" 1 "$(shows "\"none\".*,503,false,1,\[$ANY,\[\],\[\],\[\],$ANY")"
put h _ '{"prefix":{"/":0},"policies":[{}],"locations":[{"path":"/"}]}'
get unknown.test / >/dev/null
get count.test / >/dev/null
check "a host that no Ingress has is not counted, also where there is a record for the default backend" '["n","i","a","\/","count.test","","GET"],200,false,1' "$(labels 1)"
put h _ '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"all"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
get unknown.test / >/dev/null
check "a rule without a host has all" '["n","all","a","\/","_","","GET"],200,false,1' "$(labels 1)"
drop h _
get count.test /main/ -H 'Canary: always' >/dev/null
get count.test /main/ >/dev/null
check "the canary is a label" '["n","i","main","\/main","count.test","","GET"],200,false,1
["n","i","main","\/main","count.test","n-canary-80","GET"],200,false,1' "$(labels 2)"
get count.test / -X DELETE >/dev/null
get count.test / -X FROBNICATE >/dev/null
get count.test / -X BREW >/dev/null
check "methods that clients make up are one" '["n","i","a","\/","count.test","","DELETE"],200,false,1
["n","i","a","\/","count.test","","OTHER"],200,false,2' "$(labels 3)"
for name in a b; do get $name.wild.test / >/dev/null; done
check "a wildcard's requests are those of its rule" '["n","wild","a","\/","*.wild.test","","GET"],200,false,2' "$(labels 2)"
get nobody.test / >/dev/null
get part.test /out >/dev/null
nameless / >/dev/null
check "hosts that no Ingress has are not counted, paths that none has and requests without a host are" '["","","","","_","","GET"],404,false,1
["","","","","part.test","","GET"],404,false,1' "$(labels 2)"
get nobody.test /healthz >/dev/null

get count.test / >/dev/null
waiting() { control "/requests?done=$(number)" | grep -c '"GET"'; }
until_is 1 waiting
check "an answer that was lost is given again" "1 1" "$(waiting) $(waiting)"
check "until it is acknowledged" '["n","i","a","\/","count.test","","GET"],200,false,1 0' "$(labels 1) $(waiting)"

# While the worker is asked to quit, with a request that is under way.
many count.test '/[1-50]' >/dev/null
get count.test /hold >/dev/null &
read -rt 0.1 <> <(:)
configure r3 ',"other"' ",${METRICS/UNKNOWN/skip}"
reload r3
many count.test '/[1-50]' >/dev/null
wait $!
check "a reload loses nothing" '["n","i","a","\/","count.test","","GET"],200,false,101' "$(labels 101)"

# Eight buckets in a doubling: what is 0 ms is apart, and of the three sizes the last has none.
check "exponential buckets are those of the definition" 0 "$(control /spec/exponential)"
METRICS_PLAIN=$METRICS
METRICS=${METRICS%\}},\"native_schema\":3}
with skip r6
EXPONENTIAL='\[[0-9]+(,-?[0-9]+,1)?\]'
get count.test /x >/dev/null
check "and are counted beside the others" 1 "$(shows ",\[[0-9]+,1,1\]\],\[$EXPONENTIAL,$EXPONENTIAL,$EXPONENTIAL,$EXPONENTIAL,\[0,[0-9]+,1\],\[0,[0-9]+,1\]\]\]$")"
get count.test /slow/ >/dev/null
check "times in seconds" 1 "$(shows "\],\[\[0,-[0-9]+,1\],\[0,-[0-9]+,1\],\[0,-[0-9]+,1\],$EXPONENTIAL,")"
get count.test /none/ >/dev/null
check "nothing is observed where there is nothing" 1 "$(shows "\],\[$EXPONENTIAL,\[\],\[\],\[\],\[0,[0-9]+,1\]")"
METRICS=$METRICS_PLAIN

# Traced requests hand over what they are, one for each bucket; others nothing.
METRICS=$METRICS,'"tracing":{"enable_opentelemetry":false,"opentelemetry_trust_incoming_span":true,"otel_sampler":"AlwaysOn","otel_sampler_ratio":0.5,"otel_sampler_parent_based":true,"otel_max_queuesize":2,"exports":true}'
with skip r7
put h traced.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"t","tracing":{"enable_opentelemetry":true}}],"locations":[{"path":"/","service":"a","port":"80"}]}'
SPAN='"[0-9a-f]{32}","[0-9a-f]{16}",[0-9]{13}'
get count.test / >/dev/null
check "a request without a span is no exemplar" 1 "$(shows ",1,1\]\]\]$")"
TRACED=0af7651916cd43dd8448eb211c80319c
get traced.test / -H "traceparent: 00-$TRACED-b7ad6b7169203331-00" >/dev/null
check "nor is one whose span is not sampled" 1 "$(shows ",1,1\]\]\]$")"
get traced.test / -H "traceparent: 00-$TRACED-b7ad6b7169203331-01" >/dev/null
check "one with a span is, by its trace" 1 "$(shows ",\[\],\[\[[0-2],[0-9]+,\"$TRACED\",\"[0-9a-f]{16}\",[0-9]{13}\]\]\]$")"
check "with the id of the span" "$(control '/spans?n=9' | field span)" "$(sed -nE "s/.*\"$TRACED\",\"([0-9a-f]+)\".*/\1/p" "$PREFIX/handed")"
get traced.test / >/dev/null
get traced.test / >/dev/null
until_handed 2
check "as long as spans find room" 0 "$(grep -vcE ",\[\],(\[\[[0-2],[0-9]+,$SPAN\],?)+\]\]$" "$PREFIX/handed")"
get traced.test / >/dev/null
check "one whose span found no room is none" 1 "$(shows ",1,1\]\]\]$")"
METRICS=$METRICS_PLAIN

with name r4
for name in a.wild.test nobody.test count.test; do get $name / >/dev/null; done
check "every host by its own name" '["","","","","nobody.test","","GET"],404,true,1
["n","i","a","\/","count.test","","GET"],200,false,1
["n","wild","a","\/","a.wild.test","","GET"],200,true,1' "$(labels 3)"
get $'\xe9.wild.test' / >/dev/null
check "bytes that are no text" 1 "$(labels 1 | grep -c '"?[^"]*test"')"

with count r5
get nobody.test / >/dev/null
check "hosts under no name" '["","","","","_","","GET"],404,false,1' "$(labels 1)"
