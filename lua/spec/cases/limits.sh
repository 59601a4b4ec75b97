# shellcheck shell=bash disable=SC2154
# Limits of requests, connections and bandwidth.

backend n/a:80 "$A"
route() { # HOST LIMITS [INGRESS]
    one_route "$1" "$2" "" n "${3:-$1}"
}
# answers HOST N [PATH]: how often each status came, one request after the other
answers() {
    local i
    for ((i = 0; i < $2; i++)); do answer "$1" "${3:-/}"; echo; done | sort | uniq -c | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }'
}
# together HOST N PATH: the same, all at once
together() {
    # One process: so many would start too far apart on a busy machine.
    get "$1" "$3#[1-$2]" --parallel --parallel-immediate --no-progress-meter -o /dev/null -w '%{http_code}\n' | sort | uniq -c | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }'
}

route rpm.test '"limits":{"limit_rpm":1}'
check "limit_rpm: the burst and one more, then no more" "200:6 503:4" "$(answers rpm.test 10)"
check "a refused request is not counted" "503:3" "$(answers rpm.test 3)"
check "the reason is in the log" 1 "$(($(logged 'reason=rate-limit ingress="n/rpm.test"' error) > 0))"

route one.test '"limits":{"limit_rpm":1}' shared
route two.test '"limits":{"limit_rpm":1}' shared
check "hosts of one Ingress share its limit" "200:3 200:3 503:2" "$(answers one.test 3) $(answers two.test 3) $(answers one.test 2)"

route rps.test '"limits":{"limit_rps":50,"limit_burst_multiplier":0.02}'
answers rps.test 1 >/dev/null
until_is 200 answer rps.test /
check "limit_rps: room comes back with time" "" "$(until_is 200 answer rps.test /)"

# As after a clock that was set back by an hour.
route clock.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":2}'
check "a bucket is there" "200:1" "$(answers clock.test 1)"
bucket='d=limit_req&k=m%20n%2Fclock.test%20%7F%00%00%01'
check "with its time" true "$([[ $(control "/spec/get?$bucket") =~ ^[0-9] ]] && echo true)"
control "/spec/set?$bucket&v=$((($(date +%s) + 3600) * 1000))" >/dev/null
check "a clock that is set back refuses no client for that time" "200:3 503:1" "$(answers clock.test 4)"

route both.test '"limits":{"limit_rps":1000,"limit_rpm":1,"limit_burst_multiplier":2}'
check "all limits hold together" "200:3 503:2" "$(answers both.test 5)"

route allow.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0,"limit_connections":1,"limit_allowlist":["10.0.0.0/8","127.0.0.0/30","::1"]}'
check "limit_allowlist: a client in the list is not counted" "200:5" "$(answers allow.test 5)"
route other.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0,"limit_allowlist":["10.0.0.0/8","127.0.0.2","::ffff:1.2.3.4/128"]}'
check "one beside it is" "200:1 503:2" "$(answers other.test 3)"

route conn.test '"limits":{"limit_connections":2}'
check "limit_connections: so many at once" "200:2 503:4" "$(together conn.test 6 /hold)"
check "and again when they have ended" "200:2 503:1" "$(together conn.test 3 /hold)"
check "ended requests leave nothing behind" "0" "$(control '/spec/get?d=limit_conn&k=n%2Fconn.test%20%7F%00%00%01')"

# A worker that is killed while it serves takes its counts along. Another one looks at most once a second.
worker() { control /state | field pid; }
together conn.test 2 /hold >/dev/null &
until_is 2 control '/spec/get?d=limit_conn&k=n%2Fconn.test%20%7F%00%00%01'
old=$(worker)
kill -9 "$old"
wait
until_changed() { [ "$(worker)" != "$old" ] && echo changed; }
until_is changed until_changed
check "the count of a killed worker is there for now" 2 "$(control '/spec/get?d=limit_conn&k=n%2Fconn.test%20%7F%00%00%01')"
until_is 200 answer conn.test /
check "and forgotten when another client would be refused for it" "200:2 503:1" "$(together conn.test 3 /hold)"
check "which is logged" 1 "$(logged "worker $old is gone" error)"

route rate.test '"limit_rate":1,"limit_rate_after":2'
check "limit_rate: of an answer of 4 KiB 2 are sent at once and the rest takes two seconds" "1" \
    "$(get rate.test /4k -o /dev/null -w '%{time_total}' | awk '{ print ($1 >= 1 && $1 < 4) }')"
route free.test '"limit_rate":0,"limit_rate_after":0'
check "0 is no limit" "1" "$(get free.test /4k -o /dev/null -w '%{time_total}' | awk '{ print ($1 < 1) }')"

configure r2 ',"other"' ',"limit_conn_zone_variable":"$http_x_client","limit_req_status_code":429,"limit_conn_status_code":430'
reload r2
route key.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0}'
check "limit_conn_zone_variable: counted by what the settings say" "200 429 200" \
    "$(get key.test / -H 'X-Client: a' -o /dev/null -w '%{http_code} '; get key.test / -H 'X-Client: a' -o /dev/null -w '%{http_code} '
       get key.test / -H 'X-Client: b' -o /dev/null -w '%{http_code}')"
check "who has no key is not counted" "200:3" "$(answers key.test 3)"

# One namespace makes more entries than the dictionaries hold (64 KiB each); all buckets last.
configure r3 ',"other"' ',"limit_conn_zone_variable":"$arg_client","limit_req_status_code":429,"limit_conn_status_code":430'
reload r3
for namespace in evil victim; do backend $namespace/a:80 "$A"; done
of() { one_route "$2" "$3" "" "$1"; }
of evil evilreq.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0}'
of victim victimreq.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0}'
check "a client of another namespace uses up its limit" "200 429" "$(answer victimreq.test '/?client=old') $(answer victimreq.test '/?client=old')"
tally() { sort | uniq -c | awk '{ printf "%s%s:%s", sep, $2, $1; sep = " " }'; }
check "more clients than there is room for are let in" "200:3000" "$(many evilreq.test '/?client=[1-3000]' -o /dev/null -w '%{http_code}\n' | tally)"
check "which makes no other namespace's forgotten" "429" "$(answer victimreq.test '/?client=old')"
check "and leaves room for theirs" "200 429 200 429" "$(for client in a a b b; do answer victimreq.test "/?client=$client"; echo; done | tr '\n' ' ' | sed 's/ $//')"
check "its own latest are counted" "429" "$(answer evilreq.test '/?client=3000')"
of evil evilconn.test '"limits":{"limit_connections":1}'
of victim victimconn.test '"limits":{"limit_connections":1}'
many evilconn.test '/?client=[1-3000]' -o /dev/null
check "connections to one namespace leave room for those to others" 1 "$(seq 400 | sed "s|.*|url = \"http://127.0.0.1:$HTTP/hold?client=held&\"\noutput = \"/dev/null\"|" | curl -s -Z --no-progress-meter --parallel-max 300 -H 'Host: evilconn.test' -K - & 
    answer victimconn.test '/?client=1' | grep -c 200; wait)"
check "connections of another namespace are counted" "200:1 430:2" "$(together victimconn.test 3 '/hold?client=x')"
