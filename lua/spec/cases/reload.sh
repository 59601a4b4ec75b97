# shellcheck shell=bash disable=SC2154
# State over reloads, several workers, workers that are being replaced, bad configurations.

backend n/a:80 "$A"
backend n/b:80 "$B"
put h keep.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h guarded.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
for kind in password addresses verified auth_tls_match_cn forbidden denied; do put h $kind.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'; done
before=$(control /state | sed 's/.*"digest":"\([0-9]*\)".*/\1/')
control /generation -d mark >/dev/null

# A request that an old worker has begun to read when it is asked to quit.
get keep.test / >/dev/null
get guarded.test / >/dev/null
declare -A half
exec 7<>"/dev/tcp/127.0.0.1/$HTTP" 8<>"/dev/tcp/127.0.0.1/$HTTP" 9<>"/dev/tcp/127.0.0.1/$HTTP"
printf 'GET / HTTP/1.0\r\nHost: keep' >&7
printf 'GET / HTTP/1.0\r\nHost: new' >&8
printf 'GET / HTTP/1.0\r\nHost: guarded' >&9
for kind in password addresses verified auth_tls_match_cn forbidden denied; do
    get $kind.test / >/dev/null
    exec {half[$kind]}<>"/dev/tcp/127.0.0.1/$HTTP"
    printf 'GET / HTTP/1.0\r\nHost: %s' $kind >&"${half[$kind]}"
done
configure r2 ',"other","fresh"'
reload r2
check "records, digest and marker survive a reload" "$A $before mark" "$(get keep.test / | port_of) $(control /state | field digest) $(control /state | field generation)"
put h keep.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"b","port":"80","profile":"fresh"}]}'
put h guarded.test '{"prefix":{"/":0},"policies":[{"namespace":"n","external_auth":{"auth_url":"http://127.0.0.1:1/check","host":"x"}}],"locations":[{"path":"/","service":"b","port":"80","profile":"fresh"}]}'
put h new.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"b","port":"80","profile":"fresh"}]}'
printf '.test\r\n\r\n' >&7
printf '.test\r\n\r\n' >&8
printf '.test\r\n\r\n' >&9
check "an old worker serves the route that it held" "$A" "$(port_of <&7)"
check "and closes one that it never held, whose profile may protect" "HTTP/1.1 503 Service Temporarily Unavailable" "$(head -1 <&8 | tr -d '\r')"
check "and closes one that has come to be protected" "HTTP/1.1 503 Service Temporarily Unavailable" "$(head -1 <&9 | tr -d '\r')"
exec 7>&- 8>&- 9>&-
declare -A protection=([password]='{"users":"none"}' [addresses]='{"allowlist_source_range":["10.0.0.1"]}' [verified]='"x"'
    [auth_tls_match_cn]='"CN=a"' [forbidden]=true [denied]=true)
for kind in password addresses verified auth_tls_match_cn forbidden denied; do
    put h $kind.test '{"prefix":{"/":0},"policies":[{"namespace":"n","'$kind'":'"${protection[$kind]}"'}],"locations":[{"path":"/","service":"b","port":"80","profile":"fresh"}]}'
    printf '.test\r\n\r\n' >&"${half[$kind]}"
    check "nor does it serve the open version of one that has come to have $kind" 1 "$(head -1 <&"${half[$kind]}" | grep -cE ' (401|403|503) ')"
    exec {half[$kind]}>&-
done

configure r3 ',"other"'
reload r3
check "a worker that does not know a profile, which may protect, closes the route" 503 "$(get new.test / -o /dev/null -w '%{http_code}')"

refused() { # PROFILES MORE COUNT-OF-REFUSALS: what a reload says to it; `nginx -t` does not run Lua
    configure r9 "$1" "$2"
    "$NGINX" -p "$PREFIX" -c nginx.conf -e error.log -s reload
    until_is "$3" logged 'init_by_lua error: narthex' error && grep -o 'narthex: configuration.*' "$PREFIX/error.log" | tail -1
}
check "a bad value is named" 'narthex: configuration: "proxy_next_upstream_tries": expected a number, got "x"' "$(refused '' ',"proxy_next_upstream_tries":"x"' 1)"
check "a bad code is named" 'narthex: configuration: "http_redirect_code": expected 301, 302, 307 or 308, got 303' "$(refused '' ',"http_redirect_code":303' 2)"
CONFIG_GOOD=$CONFIG_DEFAULT
CONFIG_DEFAULT='{"profiles":["base"]}'
check "a missing value is named" 'narthex: configuration: "revision": expected a string, got null' "$(refused '' '' 3)"
CONFIG_DEFAULT='{"revision":"r","profiles":["x"]}'
check "base is needed" 'narthex: configuration: "profiles": expected a list with "base" in it, got ["x"]' "$(refused '' '' 4)"
CONFIG_DEFAULT=$CONFIG_GOOD
check "a refused configuration leaves the old one serving" "r3 503" "$(revision) $(get new.test / -o /dev/null -w '%{http_code}')"

stop
configure r1 '' '' 3
start
backend n/a:80 "$A"
backend n/b:80 "$B"
stale=0
for ((i = 0; i < 60; i++)); do
    if ((i % 2)); then service=a port=$A; else service=b port=$B; fi
    put h many.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"'$service'","port":"80"}]}'
    [ "$(get many.test / | port_of)" = "$port" ] || stale=$((stale + 1))
done
check "several workers: the next request sees every change" 0 "$stale"
check "several workers took part" 3 "$(grep '^many.test' "$PREFIX/access.log" | awk '{print $NF}' | sort -u | wc -l)"
check "digest over several writers" "$(control /audit | field digest)" "$(control /state | field digest)"
