# shellcheck shell=bash disable=SC2154
# Headers of the answer: CORS, custom headers; the prefix that a rewrite cut off.

backend n/a:80 "$A"
rules='"headers":[["Access-Control-Allow-Credentials","true"],["Access-Control-Max-Age","5"]]'
put h cors.test '{"prefix":{"/any/":0,"/":1,"/none/":2,"/deny/":3,"/go/":4},"policies":[{"namespace":"n","cors":{'"$rules"'}},{"namespace":"n","cors":{"cors_allow_origin":["https://a.test:8443","http://*.b.test","null"],'"$rules"'}},{"namespace":"n","denied":true,"cors":{'"$rules"'}},{"force_ssl_redirect":true,"redirects":{"answer":[301,"/x"]},"cors":{'"$rules"'}}],"locations":[{"path":"/any","service":"a","port":"80"},{"path":"/","service":"a","port":"80","policy":1},{"path":"/none","service":"none","port":"80"},{"path":"/deny","service":"a","port":"80","policy":2},{"path":"/go","policy":3}]}'
origin() { # PATH ORIGIN [curl options]
    get cors.test "$1" -H "Origin: $2" "${@:3}" -o /dev/null -w '%{http_code} %header{access-control-allow-origin} %header{access-control-max-age}'
}
check "enable_cors: everybody, without an origin too" "200 * 5" "$(get cors.test /any/ -o /dev/null -w '%{http_code} %header{access-control-allow-origin} %header{access-control-max-age}')"
check "everybody" "200 * 5" "$(origin /any/ https://x.test)"
check "a listed origin gets its name back as sent" "200 HTTPS://A.test:8443 5" "$(origin /x HTTPS://A.test:8443)"
check "another port is another origin" "200  " "$(origin /x https://a.test)"
check "no origin" "200  " "$(get cors.test /x -o /dev/null -w '%{http_code} %header{access-control-allow-origin} %header{access-control-max-age}')"
check "a star is one label" "200 http://c-1.b.test 5 200   200   200  " "$(origin /x http://c-1.b.test) $(origin /x http://b.test) $(origin /x http://d.c.b.test) $(origin /x http://.b.test)"
check "no origin that only ends so" "200   200  " "$(origin /x xhttps://a.test:8443) $(origin /x http://evil/.b.test)"
check "pages without origin" "200 null 5" "$(origin /x null)"
check "a preflight is answered here" "204 null 5" "$(origin /x null -X OPTIONS)"
check "one of another origin goes on" "200  " "$(origin /x https://x.test -X OPTIONS)"
check "a preflight is answered even without an endpoint" "204 * 5" "$(origin /none/ https://x.test -X OPTIONS)"
check "other answers carry the headers as well" "503 * 5" "$(origin /none/ https://x.test)"
check "a redirect, too, and a preflight comes before it" "301 * 5 204 * 5" "$(origin /go/ https://x.test) $(origin /go/ https://x.test -X OPTIONS)"
check "not those of a denied route" "503   503  " "$(origin /deny/ https://x.test) $(origin /deny/ https://x.test -X OPTIONS)"
fields() { tr -d '\r' | grep -i "^$1:" | sed 's/^[^:]*: *//' | paste -sd'|'; }
check "the backend's headers of that name are replaced" "https://a.test:8443" "$(get cors.test /own -H 'Origin: https://a.test:8443' -D - -o /dev/null | fields access-control-allow-origin)"
check "or stay, where the origin is not allowed" "from-backend" "$(get cors.test /own -H 'Origin: https://x.test' -D - -o /dev/null | fields access-control-allow-origin)"
check "answers that depend on the origin say so, besides what the backend says" "Accept|Origin" "$(get cors.test /own -H 'Origin: https://x.test' -D - -o /dev/null | fields vary)"
check "answers for everybody don't" "" "$(origin /any/ https://x.test -D - | fields vary)"

put h custom.test '{"prefix":{"/":0,"/slash/":0,"/deny/":1},"policies":[{"namespace":"n","custom_headers":[["X-Own","$literal"],["Strict-Transport-Security","mine"]],"proxy_body_size":5},{"denied":true,"custom_headers":[["X-Own","1"]]}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/deny","policy":1}]}'
check "custom_headers: replace the backend's, and a dollar means itself" '$literal' "$(get custom.test /own -D - -o /dev/null | fields x-own)"
check "custom_headers: on every answer" '301 $literal 413 $literal' "$(get custom.test /slash -o /dev/null -w '%{http_code} %header{x-own}') $(get custom.test / -d 123456 -o /dev/null -w '%{http_code} %header{x-own}')"
check "custom_headers: even instead of what is set everywhere" "mine" "$(tls custom.test / -o /dev/null -w '%header{strict-transport-security}')"
check "custom_headers: not on a denied route" "503 " "$(get custom.test /deny/ -o /dev/null -w '%{http_code} %header{x-own}')"
check "a state is given back" "1" "$(put h state.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'; get state.test /own -D - -o /dev/null | fields x-own | grep -c from-backend)"

put h prefix.test '{"regex":[["/p(/|$)(.*)",0],["/none",1],["/",2]],"policies":[{"namespace":"n"}],"locations":[{"path":"/p(/|$)(.*)","service":"a","port":"80","rewrite_target":"/$2","x_forwarded_prefix":"/cut/$2"},{"path":"/none","service":"a","port":"80","rewrite_target":"/own","x_forwarded_prefix":"$3"},{"path":"/","service":"a","port":"80"}]}'
check "x_forwarded_prefix: with the captures of the rewrite" "prefix=/cut/own uri=/own" "$(get prefix.test /p/own -H 'X-Forwarded-Prefix: forged')"
check "x_forwarded_prefix: an empty one is none" "prefix= uri=/own" "$(get prefix.test /none -H 'X-Forwarded-Prefix: forged')"
check "without it the client's goes on" "prefix=theirs uri=/own" "$(get prefix.test /own -H 'X-Forwarded-Prefix: theirs')"
