# shellcheck shell=bash disable=SC2154
# Why no endpoint answers: in the log, in the header, and in the error log, where floods leave few lines.

AUTH_URL=http://127.0.0.1:$AUTH
stop
configure r1 ',"other","asks","mirror","snippet","errors"' ',"reads_reason":true,"reason_header":true,"answering":["snippet"]'
start
: >"$PREFIX/reasons.log"
: >"$PREFIX/error.log"
why() { get "$@" -o /dev/null -w '%{http_code} %header{x-narthex-reason}' | sed 's/ $//'; }
lines() { logged "narthex: answered status=$1 reason=$2 " error; } # STATUS REASON

check "nothing was sent yet" "503 starting" "$(why no.test /)"
backend n/a:80 "$A"
for namespace in p q; do backend $namespace/a:80 "$A"; done # a namespace has ten lines a minute
backend n/none:80
backend n/dead:80 "$DEAD"
complete
check "a host of no Ingress" "404 no-host" "$(why no.test /)"
put h some.test '{"prefix":{"/a/":0,"/none/":1,"/service/":2,"/deny/":3,"/later/":4,"/dead/":5,"/snippet/":6,"/copied/":7},"policies":[{"namespace":"n","ingress":"i"},{"namespace":"n","ingress":"deny","denied":true},{"namespace":"n","ingress":"i","mirror":{"mirror_target":"http://127.0.0.1:'"$B"'/copy","mirror_host":"x"}}],"locations":[{"path":"/a","service":"a","port":"80"},{"path":"/none","service":"none","port":"80"},{"path":"/service"},{"path":"/deny","service":"a","port":"80","policy":1},{"path":"/later","service":"a","port":"80","profile":"unknown"},{"path":"/dead","service":"dead","port":"80"},{"path":"/snippet","service":"none","port":"80","profile":"snippet"},{"path":"/copied","profile":"mirror","policy":2}]}'
check "a path that no rule has" "404 no-path" "$(why some.test /x)"
check "a rule without a Service" "404 no-service" "$(why some.test /service/)"
check "a Service without endpoints" "503 no-endpoints" "$(why some.test /none/)"
check "also where a snippet has something to add" "503 no-endpoints" "$(why some.test /snippet/)"
check "an answer of a snippet is its own" "301" "$(why some.test '/snippet/?moved=1')"
check "also after copies" "404 no-service" "$(why some.test /copied/)"
check "a protection that can't be used" "503 protection-unusable" "$(why some.test /deny/)"
check "a profile that is not there" "503 reload-pending" "$(why some.test /later/)"
check "an endpoint that can't be reached" "502 upstream-failed" "$(why some.test /dead/)"
one_route shut.test '"forbidden":true'
one_route cn.test '"verified":"1","auth_tls_match_cn":"CN=a"'
check "a host that must stay closed" "403 protection-unusable" "$(why shut.test /)"
check "a server block that does not ask for certificates" "503 reload-pending" "$(why cn.test /)"
check "a certificate of another subject" "403 client-certificate" "$(why cn.test / -H 'X-Clients: 1')"

one_route deny.test '"addresses":{"denylist_source_range":["127.0.0.1"]}'
put u users '{"users":{"foo":"{PLAIN}bar"}}'
one_route pw.test '"password":{"users":"users","auth_realm":"r"}' "" p
check "an address that is listed" "403 source-address" "$(why deny.test /)"
check "no password" "401 password" "$(why pw.test /)"
check "is not in the error log, browsers ask so first" 0 "$(lines 401 password)"
check "a wrong password" "401 password" "$(why pw.test / -u foo:baz)"
check "is" 1 "$(lines 401 password)"
asks() { one_route "$1" "\"external_auth\":{\"auth_url\":\"$AUTH_URL$2\",\"host\":\"127.0.0.1\"${3:+,$3}}" '"profile":"asks"' q; }
asks asked.test /403
asks broken.test /500
asks sent.test /check '"auth_signin":"http://login.test/"'
asks passed.test /uncached
put h gate.test '{"prefix":{"/":0},"policies":[{"namespace":"q","ingress":"gate","external_auth":{"auth_url":"'"$AUTH_URL"'/uncached","host":"x"}}],"locations":[{"path":"/","profile":"asks"}]}'
check "a service that does not consent" "403 auth-service" "$(why asked.test /)"
check "one that gives no verdict" "500 auth-service-failed" "$(why broken.test /)"
check "a redirect to where clients log in" "302 redirect-sign-in" "$(why sent.test /)"
check "is no error" 0 "$(lines 401 auth-service)"
check "a service that consents" "200" "$(why passed.test /)"
check "and nothing behind it" "404 no-path" "$(why gate.test /)"

one_route rate.test '"limits":{"limit_rpm":1,"limit_burst_multiplier":0}' "" p rate
one_route conn.test '"limits":{"limit_connections":1}' "" n conn
why rate.test / >/dev/null
check "too many requests" "503 rate-limit" "$(why rate.test /)"
get conn.test /held >/dev/null &
counted() { control '/spec/keys?d=limit_conn' | grep -ac '^n/conn '; }
until_is 1 counted
check "too many connections" "503 connection-limit" "$(why conn.test /)"
control '/spec/set?d=configuration_data&k=spec_release&v=1' >/dev/null
wait $!
check "a body that is too large" "413 body-too-large" "$(head -c 2000 /dev/zero | why some.test /a/ --data-binary @-)"
put h rw.test '{"regex":[["/empty(.*)",0],["/go/(.*)",1]],"policies":[{"namespace":"n"}],"locations":[{"path":"/empty(.*)","service":"a","port":"80","rewrite_target":"$1"},{"path":"/go/(.*)","service":"a","port":"80","rewrite_target":"https://other.test/$1"}]}'
check "a rewrite that fails" "500 rewrite-failed" "$(why rw.test /empty)"
check "one that redirects" "302 redirect-rewrite" "$(why rw.test /go/x)"

one_route tls.test '"force_ssl_redirect":true'
one_route moved.test '"redirects":{"answer":[301,"http://a.test/"]}'
one_route cors.test '"cors":{"headers":[]}'
put h root.test '{"app_root":"/app","prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h www.test '{"redirect_to":"www.www.test","locations":[]}'
check "redirects" "308 redirect-https 301 redirect 302 redirect-app-root 308 redirect-www 301 redirect-slash" \
    "$(why tls.test /) $(why moved.test /) $(why root.test /) $(why www.test /) $(why some.test /a)"
check "a question of CORS" "204 preflight" "$(why cors.test / -X OPTIONS -H 'Origin: http://a.test')"

check "what an endpoint answers has no reason, whatever it says" "200 200 404 503" \
    "$(why some.test /a/x) $(why pw.test / -u foo:bar) $(why pw.test /missing -u foo:bar) $(why pw.test /refused -u foo:bar)"
check "no client gets the header of an endpoint" "200" "$(why pw.test /forged -u foo:bar)"
exec 8<>"/dev/tcp/127.0.0.1/$HTTP"
printf 'GET / HTTP/1.1\r\n\r\n' >&8
check "a request that is none" "X-Narthex-Reason: bad-request" "$(tr -d '\r' <&8 | grep -i x-narthex)"
exec 8>&-
one_route err.test '"errors":{"custom_http_errors":[503,502]},"limits":{"limit_rpm":1,"limit_burst_multiplier":0}' '"profile":"errors"' n err
why err.test / >/dev/null
check "an error that has a page keeps its reason" "404 rate-limit" "$(why err.test /)"
backend - "$C"
check "whatever the page's status is" "200 rate-limit" "$(why err.test /)"
drop b -
put h lost.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80","profile":"errors"}]}'
check "a page that nothing answers" "404 no-error-page" "$(why lost.test /missing)"
until_is 1 logged '^some.test /none/ 503 no-endpoints$' reasons
check "the log has the words" "1 1 1" "$(logged '^some.test /dead/ 502 upstream-failed$' reasons) $(logged '^asked.test / 403 auth-service$' reasons) $(logged '^some.test /a/x 200 -$' reasons)"
check "every word that Lua has is here, but for what no test can stage" "password-busy,path-regex-failed," \
    "$(sed -n 's/^  [A-Z_]* = "\([a-z-]*\)",$/\1/p' "$SPEC/../narthex/request/reason.lua" | while read -r word; do grep -q " $word\"\|[0-9] $word[ \"]" "$SPEC/cases/reason.sh" || echo "$word"; done | sort | tr '\n' ,)"
check "and documented" "" \
    "$(sed -n 's/.*[]A-Z_] = "\([a-z-]*\)",$/\1/p; s/.*BAD_REQUEST, OTHER = "\([a-z-]*\)", "\([a-z]*\)"$/\1\n\2/p' "$SPEC/../narthex/request/reason.lua" | while read -r word; do grep -q "^| \`$word\` |" "$SPEC/../../docs/logs.md" || echo "$word"; done)"

for _ in 1 2 3 4 5 6; do why some.test /none/ >/dev/null; done
check "a route has a line a minute" 1 "$(lines 503 no-endpoints | awk '{ print ($1 == 2 || $1 == 3) }')"
check "with what is known of the request" 1 "$(($(logged 'reason=no-endpoints ingress="n/i" service="none:80" .*host="some.test" path="/none/", client: 127.0.0.1' error) > 0))"
check "not the query" 0 "$(grep 'reason=no-endpoints' "$PREFIX/error.log" | grep -c 'path="[^"]*?')"

: >"$PREFIX/error.log"
control /spec/refusals >/dev/null
check "a flood of one route is a line, and its namespace has ten" "1 9" "$(logged 'no-endpoints ingress="flood/one" service="s:80" trace_id' error) $(logged 'reason=rate-limit ingress="flood/' error)"
check "that hides no other" "1 1" "$(logged 'reason=source-address ingress="calm/one"' error) $(logged 'status=404 reason=no-host' error)"
check "the next line says what was left out" 1 "$(logged 'no-endpoints ingress="flood/one" service="s:80" left_out=999 seconds=61 ' error)"
check "all together have a bound, and each namespace its first line" "1324" "$(logged 'ingress="all[0-9]*/' error)"
check "trace and id join it with other logs" 1 "$(($(logged ' trace_id="abababababababababababababababab" request_id="i*\.\.\."' error) > 0))"
check "what clients send makes up no field, and no line has other bytes than those of ASCII" "0 0 1" \
    "$(logged '" status=200' error) $(LC_ALL=C grep -c '[^ -~]' "$PREFIX/error.log") $(($(logged 'host="a\\x22b\\x5C\\xFF" path="/x\\x22 status=200 \\x1B\[31m\\xFF' error) > 0))"
check "lines are short" "" "$(awk 'length > 1500' "$PREFIX/error.log" | head -c 200)"

stop
configure r2 ',"other"' ',"log_reasons":false'
start
complete
: >"$PREFIX/error.log"
check "log_reasons off, no header, and the log has the words of errors still" "404 0" "$(why no.test /) $(logged 'narthex: answered' error)"
