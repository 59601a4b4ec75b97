# shellcheck shell=bash disable=SC2154
# Errors that a backend answers, and what takes the place of a backend without endpoints.

configure r2 ',"errors","other"' ',"custom_http_errors":[501],"limit_req_status_code":501'
reload r2
complete
backend n/a:80 "$A"
backend n/pages:- "$B"
put b n/none:80 '{"name":"n-none-80","endpoints":[]}'
put h err.test '{"prefix":{"/":0,"/default/":1,"/none/":2,"/both/":3,"/deny/":4},"policies":[{"namespace":"n","ingress":"i","errors":{"custom_http_errors":[404,418],"default_backend":"n/pages:-"}},{"namespace":"n","ingress":"i","errors":{"custom_http_errors":[503,404]}},{"namespace":"n","ingress":"i","errors":{"default_backend":"n/pages:-"}},{"namespace":"n","ingress":"i","proxy_body_size":10,"errors":{"custom_http_errors":[404]}},{"namespace":"n","denied":true,"errors":{"custom_http_errors":[503],"default_backend":"n/pages:-"}}],"locations":[{"path":"/","service":"a","port":"80","profile":"errors"},{"path":"/default","service":"none","port":"80","profile":"errors","policy":1},{"path":"/none","service":"none","port":"80","profile":"other","policy":2},{"path":"/both","service":"a","port":"80","profile":"errors","policy":3},{"path":"/deny","service":"a","port":"80","profile":"errors","policy":4}]}'

check "an endpoint's error goes to the backend for errors" "port=$B host=err.test uri=/?a=b route=code=404 original=/missing?a=b ingress=n/i body=" \
    "$(get err.test '/missing?a=b')"
check "the client gets that backend's status" "200" "$(answer err.test /missing)"
check "the body goes along" "body=5" "$(get err.test /teapot -d hello | grep -o 'body=.*')"
check "another error is the endpoint's own" "backend's own" "$(get err.test /gone)"
check "what clients say about errors is not believed" "code=404 original=/missing" "$(get err.test /missing -H 'X-Code: 7' -H 'X-Original-URI: /x' | grep -o 'code=404 original=/missing')"
check "without a default backend its page is the built-in 404" "404" "$(answer err.test /default/)"
backend - "$C"
check "an error that Lua makes goes there" "port=$C host=err.test uri=/ route=code=503 original=/default/ ingress=n/i body=" "$(get err.test /default/)"
check "a denied route as well" "port=$B host=err.test uri=/ route=code=503 original=/deny/ ingress=n/ body=" "$(get err.test /deny/)"
check "a body that is too large is 413 where the route's list has no 413" "413" "$(answer err.test /both/ -d 'more than ten bytes')"
put h all.test '{"prefix":{"/":0,"/own/":1,"/only/":2},"policies":[{"namespace":"n","limits":{"limit_rpm":1,"limit_burst_multiplier":0}},{"namespace":"n","ingress":"o","limits":{"limit_rpm":1,"limit_burst_multiplier":0},"errors":{"custom_http_errors":[404]}},{"namespace":"n","ingress":"p","limits":{"limit_rpm":1,"limit_burst_multiplier":0},"errors":{"default_backend":"n/pages:-"}}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/own","service":"a","port":"80","profile":"errors","policy":1},{"path":"/only","service":"a","port":"80","policy":2}]}'
answers=$(get all.test /x; get all.test /own/; get all.test /x; answer all.test /own/)
check "an error of the global list goes to the default backend" "1" "$(grep -c "port=$C host=all.test uri=/ route=code=501 original=/x" <<<"$answers")"
get all.test /only/ >/dev/null
check "also where a route has a backend for errors and no list" "$C" "$(get all.test /only/ | port_of)"
check "but not where the route's own list hides it" "501" "$(tail -1 <<<"$answers")"

check "a backend without endpoints is replaced by the default_backend" "port=$B host=err.test uri=/none/x?a=b route=other" "$(get err.test '/none/x?a=b')"
put b n/pages:- '{"name":"p","endpoints":[]}'
check "if that has endpoints" "503" "$(answer err.test /none/x)"
check "and errors go to the default backend then" "$C" "$(get err.test /missing | port_of)"

# The connection is TLS, and so is whatever answers.
hsts() { tls "$@" -o /dev/null -D - | tr -d '\r' | sed -n 's/^[Ss]trict-[Tt]ransport-[Ss]ecurity: //p'; }
backend n/pages:- "$B"
check "over TLS an endpoint's answer says so" "max-age=100" "$(hsts err.test /)"
check "also an error of its own" "max-age=100" "$(hsts err.test /gone)"
check "the backend for errors speaks for itself" "from-upstream from-upstream" "$(hsts err.test /missing) $(hsts err.test /deny/)"

# What a snippet says holds where there is no endpoint too: it answers in the profile's location.
configure r3 ',"errors","other","snippet","proxying"' ',"answering":["snippet"]'
reload r3
drop b -
put h snippet.test '{"prefix":{"/":0,"/nothing/":1,"/closed/":2},"policies":[{"namespace":"n","ingress":"i","addresses":{"denylist_source_range":["127.0.0.1"]}},{"namespace":"n","ingress":"i"},{"namespace":"n","addresses":{"denylist_source_range":["127.0.0.1"]}}],"locations":[{"path":"/","service":"none","port":"80","profile":"snippet"},{"path":"/nothing","profile":"snippet","policy":1},{"path":"/closed","profile":"snippet","policy":2}]}'
of_snippet() { get snippet.test "$1" -o /dev/null -w '%{http_code} %header{x-snippet}%header{location}'; }
check "a 503 without an endpoint has its headers" "503 n/i" "$(of_snippet /x)"
check "a 404 without a default backend as well" "404 n/i" "$(of_snippet /nothing/)"
check "a redirect of a snippet needs no endpoint" "301 n/ihttp://other.test/" "$(of_snippet '/x?moved=1')"
put h again.test '{"prefix":{"/":0,"/a/":1},"policies":[{"namespace":"n","ingress":"i"},{"namespace":"n","ingress":"a"}],"locations":[{"path":"/","service":"none","port":"80","profile":"snippet"},{"path":"/a","service":"a","port":"80","profile":"snippet","policy":1}]}'
check "a snippet may lead to another path instead" "200" "$(answer again.test /again)"
check "a client that may not pass gets no 404" "403 " "$(of_snippet /closed/)"

# A backend sends the request elsewhere (X-Accel-Redirect), and so does the backend for errors.
drop b -
put h accel.test '{"prefix":{"/":0,"/a/":1},"exact":{"/accel":1},"policies":[{"namespace":"n","ingress":"i","errors":{"custom_http_errors":[404],"default_backend":"n/pages:-"}}],"locations":[{"path":"/"},{"path":"/a","service":"a","port":"80","profile":"errors"}]}'
check "an answer may send the request to another path" "port=$A host=accel.test uri=/a/x route=errors" "$(get accel.test '/accel?to=/a/x')"
check "a page that is sent elsewhere and fails there is NGINX's own" "404" "$(answer accel.test '/accel?to=/x' -H 'X-To: /x')"
for name in @base @errors @narthex_errors @narthex_builtin @narthex_sign_in; do
    check "no answer leads to $name" "500" "$(answer accel.test "/accel?to=$name")"
done
for path in //narthex/mirror %2F/narthex/mirror /_narthex_external_auth/asks; do
    check "no answer leads to $path" "404" "$(answer accel.test "/accel?to=$path")"
done
put u users '{"users":{"u":"{PLAIN}p"}}'
put h first.test '{"prefix":{"/b/":1},"exact":{"/accel":0},"policies":[{"namespace":"n","ingress":"one","custom_headers":[["X-First","1"]],"upstream_vhost":"first.inner","connection_proxy_header":"keep-alive","limits":{"limit_rpm":1,"limit_burst_multiplier":0},"password":{"users":"users"}},{"namespace":"n","ingress":"two","limits":{"limit_rpm":1,"limit_burst_multiplier":0},"password":{"users":"users"}}],"locations":[{"path":"/accel","service":"a","port":"80","profile":"proxying"},{"path":"/b","service":"a","port":"80","policy":1}]}'
get first.test '/accel?to=/b/x' -u u:p -i | tr -d '\r' >"$PREFIX/second"
check "with the password of the request" 200 "$(sed -n '1s/.* \([0-9]*\) .*/\1/p' "$PREFIX/second")"
check "what the first path has of its own is not the second's" "port=$A host=first.test uri=/b/x route=n|two|a|80|/b|n-a-80|n/a:80 0" \
    "$(tail -1 "$PREFIX/second") $(grep -c X-First "$PREFIX/second")"
