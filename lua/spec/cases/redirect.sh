# shellcheck shell=bash disable=SC2154
# The redirect to a slash, as NGINX does it; the redirect to HTTPS; body limits.

backend n/a:80 "$A"
root='"ns":"n","ing":"i","svc":"s","port":"1"'
put h ref.plain '{"exact":{"/bar":1,"/a b/":3},"prefix":{"/":0,"/foo/":0,"/bar/":1,"/bar/deep/er/":1,"/a b/":3,"/ü/<x>/":0,"/q\"\\^{}%?#/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/","service":"a","port":"80"},{"path":"/","service":"a","port":"80"},{"path":"/","service":"a","port":"80"}]}'
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

put h tls.test '{"prefix":{"/":0,"/keep/":1,"/never/":2,"/.well-known/acme-challenge/":3,"/slash/":0},"policies":[{"namespace":"n"},{"namespace":"n","preserve_trailing_slash":true},{"namespace":"n","ssl_redirect":false},{"namespace":"n","force_ssl_redirect":true}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/keep","service":"a","port":"80","policy":1},{"path":"/never","service":"a","port":"80","policy":2},{"path":"/.well-known/acme-challenge/x","service":"a","port":"80","policy":3}]}'
check "without a certificate no redirect" 200 "$(answer tls.test /a)"
put s tls.test x
check "with one" "308 https://tls.test/a" "$(answer tls.test /a/)"
put h code.test '{"prefix":{"/":0},"policies":[{"namespace":"n","force_ssl_redirect":true,"redirects":{"http_redirect_code":301}}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "an Ingress has a status of its own" "301 https://code.test/a" "$(answer code.test /a)"
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
put h _ '{"prefix":{"/":0,"/none/":1},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/none","service":"none","port":"80"}]}'
check "there is no redirect without a host" 503 "$(nameless /none/)"
put s '*.card.test' x
check "nor to the name of a wildcard" 200 "$(answer '*.card.test' /a)"
check "nor where the first label is none" 200 "$(answer '(.card.test' /a)"
drop h _
drop s '*.card.test'
put h '*.w.test' '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put s a.w.test x
check "a wildcard host with a certificate for one name" "308 200" "$(answer a.w.test / | cut -d' ' -f1) $(answer b.w.test /)"
put h force.test '{"prefix":{"/":0,"/deny/":1,"/none/":2},"policies":[{"namespace":"n","force_ssl_redirect":true},{"force_ssl_redirect":true,"denied":true}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/deny","policy":1},{"path":"/none","service":"none","port":"80"}]}'
check "force-ssl-redirect" "308 https://force.test/a" "$(answer force.test /a)"
check "a denied route does not redirect" 503 "$(answer force.test /deny/)"
check "the redirect comes before 'no endpoints'" "308 https://force.test/none" "$(answer force.test /none/)"
check "an IPv6 host keeps its colons" "308 https://[::1]/a" "$(put h '[::1]' '{"prefix":{"/":0},"policies":[{"namespace":"n","force_ssl_redirect":true}],"locations":[{"path":"/","service":"a","port":"80"}]}'; answer '[::1]:80' /a)"

put h ref.answers '{"exact":{"/moved":0,"/choices":1,"/unmodified":2,"/path":3,"/word":4,"/relative":5,"/ported":6},"prefix":{"/slash/":5,"/port/":6},"policies":[{"redirects":{"answer":[301,"http://a.test/x"]}},{"redirects":{"answer":[300,"http://a.test/x"]}},{"redirects":{"answer":[304,"http://a.test/x"]}},{"redirects":{"answer":[302,"/x"]}},{"redirects":{"answer":[302,"x"]}},{"redirects":{"answer":[307,"/x"],"relative_redirects":true},"force_ssl_redirect":true},{"redirects":{"answer":[308,"/x"],"use_port_in_redirects":true}}],"locations":[{"path":"/"},{"path":"/","policy":1},{"path":"/","policy":2},{"path":"/","policy":3},{"path":"/","policy":4},{"path":"/","policy":5},{"path":"/","policy":6}]}'
seen() { sed "s/ref\.[a-z]*/NAME/; s/:$REFERENCE/:PORT/; s/:$HTTP/:PORT/"; }
for path in /moved /choices /path /word /relative /ported; do
    format='%{http_code} %header{location} %header{content-length} %header{content-type}'
    check "permanent_redirect, temporal_redirect, relative_redirects, use_port_in_redirects: like NGINX: $path" \
        "$(reference ref.plain $path -w "$format" | seen)" "$(get ref.answers $path -w "$format" | seen)"
done
check "a status without a body" "304 15" "$(get ref.answers /unmodified -w '%{http_code} %header{content-length}')"
check "the redirect to a slash may be relative, and comes before the other" "301 /slash/?a=b" "$(answer ref.answers '/slash?a=b')"
check "or name the port" "301 http://ref.answers:$HTTP/port/" "$(answer ref.answers /port)"
put h order.test '{"prefix":{"/":0,"/deny/":1,"/rw/":2,"/in/":3},"policies":[{"force_ssl_redirect":true,"redirects":{"answer":[302,"http://a.test"]}},{"denied":true,"redirects":{"answer":[302,"http://a.test"]}},{"force_ssl_redirect":true},{"namespace":"n","force_ssl_redirect":true}],"locations":[{"path":"/"},{"path":"/deny","policy":1},{"path":"/rw/","rewrite_target":"https://b.test/","policy":2},{"path":"/in/","service":"none","port":"80","rewrite_target":"/","policy":3}]}'
check "an annotation's redirect comes before the one to HTTPS" "302 http://a.test" "$(answer order.test /)"
check "a denied route does not redirect" 503 "$(answer order.test /deny/)"
check "a rewrite that redirects comes before HTTPS, too" "302 https://b.test/" "$(answer order.test /rw/)"
check "HTTPS comes before 'no endpoints', with the target as it was sent" "308 https://order.test/in/x" "$(answer order.test /in/x)"

put h root.test '{"app_root":"/app$nothing","prefix":{"/":0},"policies":[{"force_ssl_redirect":true,"denied":true}],"locations":[{"path":"/"}]}'
check "app_root: before everything else, with the host as it was sent" "302 http://root.test:99/app" "$(get root.test:99 '/?a=b' -o /dev/null -w '%{http_code} %header{location}')"
check "app_root: whatever the body" "302 http://root.test/app" "$(answer root.test / -d "$(printf '%01001d' 0)")"
check "app_root: on the normalised path, and for / alone" "302 503" "$(answer root.test /x/.. | cut -d' ' -f1) $(answer root.test /x)"
check "app_root: without HSTS over TLS" "302 https://root.test/app " "$(tls root.test / -o /dev/null -w '%{http_code} %header{location} %header{strict-transport-security}')"
put h www.twin.test '{"redirect_to":"twin.test","locations":[]}'
check "from_to_www_redirect: with the port, without the slash" "308 http://twin.test:$HTTP/a?b=c" "$(answer www.twin.test '/a?b=c/')"
check "from_to_www_redirect: as forwarded" "308 https://twin.test:444" "$(answer www.twin.test / -H 'X-Forwarded-Proto: https' -H 'X-Forwarded-Port: 444')"

put h body.test '{"prefix":{"/":0,"/ten/":1,"/any/":2,"/other/":3,"/deny/":4,"/none/":5},"policies":[{"namespace":"n"},{"namespace":"n","proxy_body_size":10},{"namespace":"n","proxy_body_size":0},{"proxy_body_size":10,"denied":true},{"namespace":"n","proxy_body_size":10,"force_ssl_redirect":true}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/ten","service":"a","port":"80","policy":1},{"path":"/any","service":"a","port":"80","policy":2},{"path":"/other","service":"a","port":"80","profile":"other","policy":2},{"path":"/deny","policy":3},{"path":"/none","service":"none","port":"80","policy":4}]}'
long=$(printf '%01001d' 0)
check "at the global limit" 200 "$(answer body.test / -d "${long:1}")"
check "above it" 413 "$(answer body.test / -d "$long")"
check "a route's own limit" "200 413" "$(answer body.test /ten/ -d 1234567890) $(answer body.test /ten/ -d 12345678901)"
check "no limit" 200 "$(answer body.test /any/ -d "$long")"
check "chunked: the profile's directive" 413 "$(answer body.test /other/ -H 'Transfer-Encoding: chunked' -d "$long")"
check "413 goes before everything that the location would do" "413 413 413" "$(answer body.test /deny/ -d "$long") $(answer body.test /none/ -d "$long") $(answer body.test /ten -d "$long")"

configure r2 '' ',"use_port_in_redirects":true,"http_redirect_code":302,"preserve_trailing_slash":true'
reload r2
check "ports in redirects, another code, slash kept" "302 https://force.test:8443/a/" "$(answer force.test /a/)"
check "and in one of an annotation" "302 http://ref.answers:$HTTP/x" "$(answer ref.answers /path)"
check "and in the slash redirect" "301 http://ref.plain:$HTTP/foo/" "$(answer ref.plain /foo)"
configure r3 '' ',"relative_redirects":true,"add_headers":[["X-Own","from-config on ${host}"]]'
reload r3
check "relative ones" "301 /foo/ 302 /x" "$(answer ref.plain /foo) $(answer ref.answers /path)"
check "add-headers: on every answer, instead of the backend's" "from-config on force.test from-config on ref.plain" "$(get force.test / -o /dev/null -w '%header{x-own}') $(get ref.plain /own -o /dev/null -w '%header{x-own}')"
