# shellcheck shell=bash disable=SC2154
# Errors that a backend answers, and what takes the place of a backend without endpoints.

configure r2 ',"errors","other"' ',"error_statuses":[501],"limit_req_status":501'
reload r2
control /generation -d g >/dev/null
backend ns/a:80 "$A"
backend ns/pages:- "$B"
put b ns/none:80 '{"name":"ns-none-80","eps":[]}'
put h err.test '{"prefix":{"/":0,"/default/":1,"/none/":2,"/both/":3,"/deny/":4},"routes":[{"ns":"n","ing":"i","path":"/","be":"ns/a:80","prof":"errors","errs":{"codes":[404,418],"be":"ns/pages:-"}},{"ns":"n","ing":"i","path":"/default","be":"ns/none:80","prof":"errors","errs":{"codes":[503,404]}},{"ns":"n","ing":"i","svc":"none","port":"80","path":"/none","be":"ns/none:80","prof":"other","errs":{"be":"ns/pages:-"}},{"ns":"n","ing":"i","path":"/both","be":"ns/a:80","body":10,"prof":"errors","errs":{"codes":[404]}},{"path":"/deny","be":"ns/a:80","deny":true,"prof":"errors","errs":{"codes":[503],"be":"ns/pages:-"}}]}'

check "an endpoint's error goes to the backend for errors" "port=$B host=err.test uri=/?a=b route=code=404 original=/missing?a=b ingress=n/i body=" \
    "$(get err.test '/missing?a=b')"
check "the client gets that backend's status" "200" "$(answer err.test /missing)"
check "the body goes along" "body=5" "$(get err.test /teapot -d hello | grep -o 'body=.*')"
check "another error is the endpoint's own" "backend's own" "$(get err.test /gone)"
check "what clients say about errors is not believed" "code=404 original=/missing" "$(get err.test /missing -H 'X-Code: 7' -H 'X-Original-URI: /x' | grep -o 'code=404 original=/missing')"
check "without a default backend its page is the built-in 404" "404" "$(answer err.test /default/)"
backend - "$C"
check "an error that Lua makes goes there" "port=$C host=err.test uri=/ route=code=503 original=/default/ ingress=n/i body=" "$(get err.test /default/)"
check "a denied route as well" "port=$B host=err.test uri=/ route=code=503 original=/deny/ ingress=/ body=" "$(get err.test /deny/)"
check "a body that is too large is 413 where the route's list has no 413" "413" "$(answer err.test /both/ -d 'more than ten bytes')"
put h all.test '{"prefix":{"/":0,"/own/":1,"/only/":2},"routes":[{"path":"/","be":"ns/a:80","lim":{"rpm":[1,0]}},{"ing":"o","path":"/own","be":"ns/a:80","prof":"errors","lim":{"rpm":[1,0]},"errs":{"codes":[404]}},{"ing":"p","path":"/only","be":"ns/a:80","lim":{"rpm":[1,0]},"errs":{"be":"ns/pages:-"}}]}'
answers=$(get all.test /x; get all.test /own/; get all.test /x; answer all.test /own/)
check "an error of the global list goes to the default backend" "1" "$(grep -c "port=$C host=all.test uri=/ route=code=501 original=/x" <<<"$answers")"
get all.test /only/ >/dev/null
check "also where a route has a backend for errors and no list" "$C" "$(get all.test /only/ | port_of)"
check "but not where the route's own list hides it" "501" "$(tail -1 <<<"$answers")"

check "a backend without endpoints is replaced by the default_backend" "port=$B host=err.test uri=/none/x?a=b route=other" "$(get err.test '/none/x?a=b')"
put b ns/pages:- '{"name":"p","eps":[]}'
check "if that has endpoints" "503" "$(answer err.test /none/x)"
check "and errors go to the default backend then" "$C" "$(get err.test /missing | port_of)"

# The connection is TLS, and so is whatever answers.
hsts() { tls "$@" -o /dev/null -D - | tr -d '\r' | sed -n 's/^[Ss]trict-[Tt]ransport-[Ss]ecurity: //p'; }
backend ns/pages:- "$B"
check "over TLS an endpoint's answer says so" "max-age=100" "$(hsts err.test /)"
check "also an error of its own" "max-age=100" "$(hsts err.test /gone)"
check "the backend for errors speaks for itself" "from-upstream from-upstream" "$(hsts err.test /missing) $(hsts err.test /deny/)"

# What a snippet says holds where there is no endpoint too: it answers in the profile's location.
configure r3 ',"errors","other","snippet","proxying"' ',"answering":["snippet"]'
reload r3
drop b -
put h snippet.test '{"prefix":{"/":0,"/nothing/":1,"/closed/":2},"routes":[{"ns":"n","ing":"i","path":"/","be":"ns/none:80","prof":"snippet","acl":{"deny":["127.0.0.1"]}},{"ns":"n","ing":"i","path":"/nothing","prof":"snippet"},{"ns":"n","path":"/closed","prof":"snippet","acl":{"deny":["127.0.0.1"]}}]}'
of_snippet() { get snippet.test "$1" -o /dev/null -w '%{http_code} %header{x-snippet}%header{location}'; }
check "a 503 without an endpoint has its headers" "503 n/i" "$(of_snippet /x)"
check "a 404 without a default backend as well" "404 n/i" "$(of_snippet /nothing/)"
check "a redirect of a snippet needs no endpoint" "301 n/ihttp://other.test/" "$(of_snippet '/x?moved=1')"
put h again.test '{"prefix":{"/":0,"/a/":1},"routes":[{"ns":"n","ing":"i","path":"/","be":"ns/none:80","prof":"snippet"},{"ns":"n","ing":"a","path":"/a","be":"ns/a:80","prof":"snippet"}]}'
check "a snippet may lead to another path instead" "200" "$(answer again.test /again)"
check "a client that may not pass gets no 404" "403 " "$(of_snippet /closed/)"

# A backend sends the request elsewhere (X-Accel-Redirect), and so does the backend for errors.
drop b -
put h accel.test '{"prefix":{"/":0,"/a/":1},"exact":{"/accel":1},"routes":[{"ns":"n","ing":"i","path":"/","errs":{"codes":[404],"be":"ns/pages:-"}},{"ns":"n","ing":"i","path":"/a","be":"ns/a:80","prof":"errors","errs":{"codes":[404],"be":"ns/pages:-"}}]}'
check "an answer may send the request to another path" "port=$A host=accel.test uri=/a/x route=errors" "$(get accel.test '/accel?to=/a/x')"
check "a page that is sent elsewhere and fails there is NGINX's own" "404" "$(answer accel.test '/accel?to=/x' -H 'X-To: /x')"
for name in @base @errors @narthex_errors @narthex_stock @narthex_sign_in; do
    check "no answer leads to $name" "500" "$(answer accel.test "/accel?to=$name")"
done
for path in //narthex/mirror %2F/narthex/mirror /_narthex_external_auth/asks; do
    check "no answer leads to $path" "404" "$(answer accel.test "/accel?to=$path")"
done
put u users '{"users":{"u":"{PLAIN}p"}}'
put h first.test '{"prefix":{"/b/":1},"exact":{"/accel":0},"routes":[{"ns":"n","ing":"one","path":"/accel","be":"ns/a:80","prof":"proxying","hdr":[["X-First","1"]],"vhost":"first.inner","conn":"keep-alive","lim":{"rpm":[1,0]},"pw":{"users":"users"}},{"ns":"n","ing":"two","path":"/b","be":"ns/a:80","lim":{"rpm":[1,0]},"pw":{"users":"users"}}]}'
get first.test '/accel?to=/b/x' -u u:p -i | tr -d '\r' >"$PREFIX/second"
check "with the password of the request" 200 "$(sed -n '1s/.* \([0-9]*\) .*/\1/p' "$PREFIX/second")"
check "what the first path has of its own is not the second's" "port=$A host=first.test uri=/b/x route=n|two|||/b|ns-a-80|ns/a:80 0" \
    "$(tail -1 "$PREFIX/second") $(grep -c X-First "$PREFIX/second")"
