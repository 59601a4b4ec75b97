# shellcheck shell=bash disable=SC2154
# Round robin, retries, timeouts, changes of endpoints.

all() { # HOST COUNT: ports in order
    local i
    for ((i = 0; i < $2; i++)); do get "$1" / | port_of; done
}
count() { sort | uniq -c | awk '{print $2 ":" $1}' | tr '\n' ' '; }

put h lb.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"lb","port":"80"}]}'
backend n/lb:80 "$A" "$B" "$C"
check "round robin" "$A:4 $B:4 $C:4 " "$(all lb.test 12 | count)"
put b n/lb:80 '{"name":"lb","endpoints":[["127.0.0.1",'"$A"',3],["127.0.0.1",'"$B"'],["127.0.0.1",'"$C"',2]]}'
weighted=$(all lb.test 12)
check "weights" "$A:6 $B:2 $C:4 " "$(count <<<"$weighted")"
check "weights are spread: no peer three times in a row" 0 "$(uniq -c <<<"$weighted" | awk '$1 > 2' | wc -l)"
put b n/lb:80 '{"name":"lb","endpoints":[["127.0.0.1",'"$A"',6],["127.0.0.1",'"$B"',2]]}'
check "weights after a change" "$A:9 $B:3 " "$(all lb.test 12 | count)"
backend n/lb:80 "$A" "$B"
first=$(get lb.test / | port_of)
backend n/lb:80 "$A" "$B" "$C"
check "an added endpoint does not restart the round" 1 "$([ "$(get lb.test / | port_of)" != "$first" ] && echo 1)"
backend n/lb:80 "$B"
check "endpoints change with the next request" "$B:3 " "$(all lb.test 3 | count)"

backend n/lb:80 "$DEAD" "$A" "$DEAD2"
check "two of three are dead: everybody is served" "$A:9 " "$(all lb.test 9 | count)"
check "no peer was tried twice in a request" 0 "$(logged "$DEAD, .*$DEAD\]\|$DEAD2, .*$DEAD2\]" access)"
put b n/lb:80 '{"name":"lb","endpoints":[["127.0.0.1",'"$DEAD"',9],["127.0.0.1",'"$A"'],["127.0.0.1",'"$DEAD2"',9]]}'
check "the same with weights" "$A:9 " "$(all lb.test 9 | count)"
backend n/lb:80 "$DEAD"
check "one dead peer: 502" 502 "$(answer lb.test /)"
check "after three tries" 1 "$(logged "502 \[127.0.0.1:$DEAD, 127.0.0.1:$DEAD, 127.0.0.1:$DEAD\]" access)"
backend n/lb:80 "$DEAD" "$DEAD2"
check "two dead peers: 502" 502 "$(answer lb.test /)"
check "both were tried, then one again" 1 "$(grep -cE "502 \[127.0.0.1:($DEAD, 127.0.0.1:$DEAD2, 127.0.0.1:($DEAD|$DEAD2)|$DEAD2, 127.0.0.1:$DEAD, 127.0.0.1:($DEAD|$DEAD2))\]" "$PREFIX/access.log")"
backend n/lb:80
check "no endpoint left" 503 "$(answer lb.test /)"
if [ -n "$LISTEN6" ]; then
    put b n/lb:80 '{"name":"lb","endpoints":[["::1",'"$SIX"'],["0:0::1",'"$DEAD"']]}'
    check "IPv6" "$SIX:4 " "$(all lb.test 4 | count)"
fi
put b n/lb:80 '{"name":"lb","load_balance":"least_frobs","endpoints":[["127.0.0.1",'"$A"']]}'
check "an unknown algorithm is round robin" "$A" "$(get lb.test / | port_of)"

put h time.test '{"prefix":{"/":0,"/hang/":1},"policies":[{"namespace":"n"},{"namespace":"n","proxy_connect_timeout":1,"proxy_send_timeout":1,"proxy_read_timeout":1}],"locations":[{"path":"/","service":"time","port":"80"},{"path":"/.*","service":"time","port":"80","rewrite_target":"/hang","policy":1}]}'
backend n/time:80 "$A"
check "a route's read timeout" 504 "$(answer time.test /hang/ -X POST)"

put h ewma.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"e","port":"80"}]}'
put b n/e:80 '{"name":"e","load_balance":"ewma","endpoints":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$SLOW"']]}'
until_is "$SLOW" eval 'get ewma.test / | port_of'
check "ewma asks the fast one" "$A:10 " "$(all ewma.test 10 | count)"
scored() { grep '^ewma.test' "$PREFIX/access.log" | awk '$(NF - 1) >= 0' | head -1 | wc -l; }
check "the score of the chosen peer is in the log" 1 "$(until_is 1 scored && echo 1)"
scores() { control "/spec/keys?d=balancer_ewma" | sort | tr '\n' ' '; }
check "scores are per backend and address" 1 "$(scores | grep -c "^n/e:80 127.0.0.1:$A n/e:80 127.0.0.1:$SLOW $")"
score() { control "/spec/get?d=balancer_ewma&k=n/e:80%20127.0.0.1:$1"; }
check "a slow peer has a score" 1 "$(score "$SLOW" | awk '{print ($1 > 0.0001)}')"
control "/spec/set?d=balancer_ewma&k=n/e:80%20127.0.0.1:$A&v=2" >/dev/null
control "/spec/set?d=balancer_ewma&k=n/e:80%20127.0.0.1:$SLOW&v=4" >/dev/null
put b n/e:80 '{"name":"e","load_balance":"ewma","endpoints":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$SLOW"'],["127.0.0.1",'"$DEAD"']]}'
get ewma.test / >/dev/null
check "a new peer starts with the mean of the others" 1 "$(score "$DEAD" | awk '{print ($1 > 1.5 && $1 < 3.5)}')"
put b n/e:80 '{"name":"e","load_balance":"ewma","endpoints":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$DEAD"']]}'
check "a retry leaves out what was tried" "$A:20 " "$(all ewma.test 20 | count)"
check "a peer that left lost its score" nil "$(score "$SLOW")"
put b n/e:80 '{"name":"e","load_balance":"ewma","endpoints":[["127.0.0.1",'"$DEAD"'],["127.0.0.1",'"$DEAD2"']]}'
check "ewma with none alive" 502 "$(answer ewma.test /)"
put b n/e:80 '{"name":"e","endpoints":[["127.0.0.1",'"$A"']]}'
check "the algorithm changes live" "$A" "$(get ewma.test / | port_of)"
