# shellcheck shell=bash disable=SC2154
# The redirect to a slash, as NGINX does it; the redirect to HTTPS; body limits.

backend ns/a:80 "$A"
root='"ns":"n","ing":"i","svc":"s","port":"1"'
put h ref.plain '{"exact":{"/bar":1,"/a b/":3},"prefix":{"/":0,"/foo/":0,"/bar/":1,"/bar/deep/er/":1,"/a b/":3,"/ü/<x>/":0,"/q\"\\^{}%?#/":0},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/","be":"ns/a:80"},{"path":"/","be":"ns/a:80"},{"path":"/","be":"ns/a:80"}]}'
while IFS= read -r target; do
    want=$(reference ref.plain "$target" -o /dev/null -w '%{http_code} %header{location} %header{content-type}')
    check "like NGINX: $target" "$want" "$(get ref.plain "$target" -o /dev/null -w '%{http_code} %header{location} %header{content-type}')"
done <<'TARGETS'
/foo
/foo/
/foo?
/foo?a=b&c=%20d?
/FOO
/foo//
//foo
/x/../foo
/%66oo?x=%2F
/bar
/bar?x
/bar/deep
/bar/deep/er
/bar/deep/er/
/a%20b
/a%20b/
/%C3%BC/%3Cx%3E
/%C3%BC/%3cx%3e?%3c
/q%22%5C%5E%7B%7D%25%3F%23
/
TARGETS
check "the body of the 301" "$(reference ref.plain /foo)" "$(get ref.plain /foo)"
check "HEAD" "301" "$(answer ref.plain /foo -I | cut -d' ' -f1)"
check "the redirect names the host without its port" "301 http://ref.plain/foo/" "$(get ref.plain:99 /foo -o /dev/null -w '%{http_code} %header{location}')"

put h tls.test '{"prefix":{"/":0,"/keep/":1,"/never/":2,"/.well-known/acme-challenge/":3,"/slash/":0},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/keep","be":"ns/a:80","keep":true},{"path":"/never","be":"ns/a:80","ssl":false},{"path":"/.well-known/acme-challenge/x","be":"ns/a:80","fssl":true}]}'
check "without a certificate no redirect" 200 "$(answer tls.test /a)"
put s tls.test x
check "with one" "308 https://tls.test/a" "$(answer tls.test /a/)"
check "the root becomes nothing" "308 https://tls.test" "$(answer tls.test /)"
check "a slash at the end of the query is cut too" "308 https://tls.test/a/?q=" "$(answer tls.test '/a/?q=/')"
check "the raw target" "308 https://tls.test/%41/..//b?%2f" "$(answer tls.test '/%41/..//b?%2f')"
check "the slash is kept where asked" "308 https://tls.test/keep/a/" "$(answer tls.test /keep/a/)"
check "ssl-redirect off" 200 "$(answer tls.test /never/)"
check "exempt path" 200 "$(answer tls.test /.well-known/acme-challenge/x)"
check "the slash redirect goes first, with the connection's scheme" "301 http://tls.test/slash/" "$(answer tls.test /slash)"
check "the port of the host is dropped" "308 https://tls.test/a" "$(get tls.test:8080 /a -o /dev/null -w '%{http_code} %header{location}')"
check "X-Forwarded-Proto https: served" 200 "$(answer tls.test / -H 'X-Forwarded-Proto: https')"
check "another scheme than http: served" 200 "$(answer tls.test / -H 'X-Forwarded-Proto: wss')"
check "best host" "308 https://best.test/a" "$(answer tls.test /a -H 'X-Forwarded-Host: best.test:81')"
check "over TLS served" 200 "$(tls tls.test / -o /dev/null -w '%{http_code}')"
drop s tls.test
check "the certificate goes, so does the redirect" 200 "$(answer tls.test /a)"
put s '*.test' x
check "a sibling wildcard certificate turns it on" "308 https://tls.test/a" "$(answer tls.test /a)"
drop s '*.test'
put s _ x
check "the default certificate does not" 200 "$(answer tls.test /a)"
put h _ '{"prefix":{"/":0,"/none/":1},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/none","be":"ns/none:80"}]}'
check "there is no redirect without a host" 503 "$(nameless /none/)"
put s '*.card.test' x
check "nor to the name of a wildcard" 200 "$(answer '*.card.test' /a)"
check "nor where the first label is none" 200 "$(answer '(.card.test' /a)"
drop h _
drop s '*.card.test'
put h '*.w.test' '{"prefix":{"/":0},"routes":[{"path":"/","be":"ns/a:80"}]}'
put s a.w.test x
check "a wildcard host with a certificate for one name" "308 200" "$(answer a.w.test / | cut -d' ' -f1) $(answer b.w.test /)"
put h force.test '{"prefix":{"/":0,"/deny/":1,"/none/":2},"routes":[{"path":"/","be":"ns/a:80","fssl":true},{"path":"/deny","fssl":true,"deny":true},{"path":"/none","be":"ns/none:80","fssl":true}]}'
check "force-ssl-redirect" "308 https://force.test/a" "$(answer force.test /a)"
check "a denied route does not redirect" 503 "$(answer force.test /deny/)"
check "the redirect comes before 'no endpoints'" "308 https://force.test/none" "$(answer force.test /none/)"
check "an IPv6 host keeps its colons" "308 https://[::1]/a" "$(put h '[::1]' '{"prefix":{"/":0},"routes":[{"path":"/","be":"ns/a:80","fssl":true}]}'; answer '[::1]:80' /a)"

put h body.test '{"prefix":{"/":0,"/ten/":1,"/any/":2,"/other/":3,"/deny/":4,"/none/":5},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/ten","be":"ns/a:80","body":10},{"path":"/any","be":"ns/a:80","body":0},{"path":"/other","be":"ns/a:80","body":0,"prof":"other"},{"path":"/deny","body":10,"deny":true},{"path":"/none","body":10,"be":"ns/none:80","fssl":true}]}'
long=$(printf '%01001d' 0)
check "at the global limit" 200 "$(answer body.test / -d "${long:1}")"
check "above it" 413 "$(answer body.test / -d "$long")"
check "a route's own limit" "200 413" "$(answer body.test /ten/ -d 1234567890) $(answer body.test /ten/ -d 12345678901)"
check "no limit" 200 "$(answer body.test /any/ -d "$long")"
check "chunked: the profile's directive" 413 "$(answer body.test /other/ -H 'Transfer-Encoding: chunked' -d "$long")"
check "413 goes before everything that the location would do" "413 413 413" "$(answer body.test /deny/ -d "$long") $(answer body.test /none/ -d "$long") $(answer body.test /ten -d "$long")"

configure r2 '' ',"use_port_in_redirects":true,"redirect_code":302,"preserve_trailing_slash":true'
reload r2
check "ports in redirects, another code, slash kept" "302 https://force.test:8443/a/" "$(answer force.test /a/)"
check "and in the slash redirect" "301 http://ref.plain:$HTTP/foo/" "$(answer ref.plain /foo)"
