# shellcheck shell=bash disable=SC2154
# Hosts, paths, answers without a backend, variables.

check "unknown host, not everything was sent yet" "503" "$(answer no.test /)"
complete
check "unknown host, nothing configured" "404" "$(answer no.test /)"
backend n/a:80 "$A"
backend n/b:80 "$B"
backend n/none:80
put h foo.test '{"exact":{"/foo":0,"/both":2},"prefix":{"/foo/":0,"/":1,"/foo/deep/":2,"/slash/":2},"policies":[{"namespace":"n","ingress":"i"}],"locations":[
{"path":"/foo","service":"a","port":"80"},{"path":"/","service":"b","port":"80"},
{"path":"/foo/deep","service":"a","port":"80","profile":"other"}]}' # not one line: refused below
check "a value with newlines is not one record" "404" "$(answer foo.test /)"
put h foo.test '{"exact":{"/foo":0,"/both":2,"/only/":1},"prefix":{"/foo/":0,"/":1,"/foo/deep/":2,"/slash/":2},"policies":[{"namespace":"n","ingress":"i"},{"namespace":"n","ingress":"i2"}],"locations":[{"path":"/foo","service":"a","port":"80"},{"path":"/","service":"b","port":"80"},{"path":"/foo/deep","service":"a","port":"80","profile":"other","policy":1}]}'
check "exact, all variables" "port=$A host=foo.test uri=/foo?x=1 route=n|i|a|80|/foo|n-a-80|n/a:80" "$(get foo.test '/foo?x=1')"
check "prefix" "port=$A host=foo.test uri=/foo/x route=n|i|a|80|/foo|n-a-80|n/a:80" "$(get foo.test /foo/x)"
check "prefix is by elements, root catches" "$B" "$(get foo.test /foobar | port_of)"
check "longest prefix, other profile" "port=$A host=foo.test uri=/foo/deep/%41 route=other" "$(get foo.test /foo/deep/%41)"
check "matching is case-sensitive" "$B" "$(get foo.test /FOO | port_of)"
check "matching on the normalised path, raw target to the backend" "port=$A host=foo.test uri=/x/..//f%6Fo route=n|i|a|80|/foo|n-a-80|n/a:80" "$(get foo.test '/x/..//f%6Fo')"
check "host in upper case with port and dot" "$A" "$(get FOO.Test.:1234 /foo | port_of)"
check "a missing slash" "301 http://foo.test/slash/?a=b" "$(answer foo.test '/slash?a=b')"
check "an exact path that ends in a slash does not redirect" "200" "$(answer foo.test /only)"

# What the routes of an Ingress have in common is in the record once.
backend m/a:80 "$A"
put h shared.test '{"prefix":{"/a/":0,"/b/":1,"/re/":2,"/far/":3,"/none/":4},"policies":[{"namespace":"n","ingress":"i","ssl_redirect":false,"custom_headers":[["X-Common","1"]],"upstream_vhost":"inner.test"},{"namespace":"m","ingress":"j","addresses":{"denylist_source_range":["127.0.0.0/8"]}}],"locations":[{"path":"/a","service":"a","port":"80"},{"path":"/b","service":"b","port":"80","profile":"other"},{"path":"/re/(.*)","service":"a","port":"80","rewrite_target":"/$1"},{"path":"/far","service":"a","port":"80","policy":1},{"path":"/none","service":"a","port":"80","profile":"unknown"}]}'
check "a route has what its policy says" "port=$A host=inner.test uri=/a/x route=n|i|a|80|/a|n-a-80|n/a:80" "$(get shared.test /a/x)"
check "another route with that, in a profile of its own" "port=$B route=other" "$(get shared.test /b/x | sed 's/ host=[^ ]* uri=[^ ]*//')"
check "and with a rewrite of its own" "uri=/x" "$(get shared.test /re/x | grep -o 'uri=[^ ]*')"
check "headers of the policy" "1 1 1" "$(for path in a b re; do get shared.test /$path/x -o /dev/null -w '%header{x-common} '; done | sed 's/ $//')"
check "a list of another policy applies to its routes only" "403" "$(answer shared.test /far/x)"
check "a profile that is not there closes its route only" "503 200" "$(answer shared.test /none/x) $(answer shared.test /a/x)"
late() { put h late.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ssl_redirect":false}],"locations":[{"path":"/","service":"a","port":"80"'"$1"'}]}'; }
late ',"profile":"unknown"'
answer late.test /x >"$PREFIX/late" &
sleep 0.3
late ''
wait $!
check "and waits a moment for a version without it" "200" "$(cat "$PREFIX/late")"
put h shared.test '{"prefix":{"/a/":0},"locations":[{"path":"/a","service":"a","port":"80"}]}'
check "a record whose routes name a policy that is not there replaces nothing" "403" "$(answer shared.test /far/x)"
drop h shared.test

# What stands in the request line takes the place of Host.
put h abs.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
absolute() { get foo.test / --request-target "$1" "${@:2}"; }
check "a request in absolute form reaches backends under its own authority" "port=$A host=abs.test uri=/x?a=b route=n|i|a|80|/|n-a-80|n/a:80" "$(absolute 'http://abs.test/x?a=b')"
check "with its port and letters, whatever the scheme" "port=$A host=ABS.test:81 uri=/x route=n|i|a|80|/|n-a-80|n/a:80" "$(absolute 'HTTPS://ABS.test:81/x')"
check "without a path, and without a Host" "port=$A host=abs.test:81 uri=/ route=n|i|a|80|/|n-a-80|n/a:80" "$(absolute 'http://abs.test:81' -0 -H 'Host:')"
check "a path that looks like one is none" "port=$B host=foo.test uri=/http://abs.test/x route=n|i|b|80|/|n-b-80|n/b:80" "$(absolute '/http://abs.test/x')"
check "an authority that is none is refused" "400 400" "$(absolute 'http://me@abs.test/' -o /dev/null -w '%{http_code}') $(absolute 'http:///x' -o /dev/null -w '%{http_code}')"
put h absdir.test '{"prefix":{"/d/":0},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "redirects lead to it" "301 http://absdir.test/d/" "$(absolute 'http://absdir.test/d' -o /dev/null -w '%{http_code} %header{location}')"

put h '*.wild.test' '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"w"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h 'own.wild.test' '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"b","port":"80"}]}'
check "wildcard host" "$A" "$(get a_1-b.wild.test / | port_of)"
check "an own record beats the wildcard" "$B" "$(get own.wild.test / | port_of)"
check "the wildcard covers one label only" "404" "$(answer a.b.wild.test /)"
check "the wildcard does not cover its parent" "404" "$(answer wild.test /)"
check "a star is no label" "404" "$(answer '*.wild.test' /)"
check "a label of other characters" "404" "$(answer 'a+b.wild.test' /)"
drop h own.wild.test
check "a removed host falls back to the wildcard at once" "$A" "$(get own.wild.test / | port_of)"

put h alias.host '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/alias","service":"a","port":"80"}]}'
put h '~' '{"patterns":{"suffixes":{".wild.test":"alias.host",".test2":"alias.host",".deep.test2":"foo.test",".gone":"no.host"},"regexes":[["(",""],["^x[0-9]+\\.re$","alias.host"],["^x","foo.test"]]},"locations":[]}'
path_of() { get "$1" /foo | sed 's/.*route=[^|]*|[^|]*|[^|]*|[^|]*|\([^|]*\)|.*/\1/'; }
check "server_alias: a suffix of any number of labels, before a wildcard host" "/alias /alias" "$(path_of a.b.wild.test) $(path_of one.wild.test)"
check "server_alias: the longest suffix, and not the name alone" "/foo /alias 404" "$(path_of a.deep.test2) $(path_of a.test2) $(answer test2 /foo)"
check "server_alias: a regular expression, the first that matches" "/alias /foo" "$(path_of X12.re) $(path_of x12.other)"
check "a suffix of a host that is gone" 404 "$(answer a.gone /)"
check "the list is no host" "404 404" "$(answer '~' /) $(answer '~x' /)"
drop h '~'
put h some.test '{"prefix":{"/x/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/x","service":"a","port":"80"}]}'
check "no path matches: the default backend, which is missing" "404" "$(answer some.test /y)"
check "the stock page" "1" "$(get some.test /y | grep -c '<center>nginx</center>')"
backend - "$C"
check "the default backend" "port=$C host=some.test uri=/y route=|||||-|-" "$(get some.test /y)"
check "unknown host goes there too" "$C" "$(get no.test /y | port_of)"
put b - '{"name":"upstream-default-backend","endpoints":[]}'
check "an empty default backend is the built-in 404" "404" "$(answer no.test /)"

put h err.test '{"prefix":{"/none/":0,"/gone/":1,"/deny/":2,"/":3},"policies":[{"namespace":"n","ingress":"e"},{"namespace":"n"},{"namespace":"n","denied":true}],"locations":[{"path":"/none","service":"none","port":"80"},{"path":"/gone","service":"gone","port":"80","policy":1},{"path":"/deny","service":"a","port":"80","policy":2},{"path":"/","policy":1}]}'
check "no endpoints" "503" "$(answer err.test /none/)"
check "no such backend" "503" "$(answer err.test /gone/)"
check "denied" "503" "$(answer err.test /deny/)"
check "a route to the default backend that has none" "404" "$(answer err.test /)"
check "an answer without a backend is logged with its identity" "1" "$(logged 'err.test /none/ 503 \[-\] \[n/e\] \[n-none-80\]' access)"

check "health of the catch-all" "200 0" "$(get no.test /healthz -o /dev/null -w '%{http_code} %header{content-length}')"
check "it is not logged" "0" "$(logged ' /healthz ' access)"
check "without a Host header too" "200" "$(nameless /healthz)"
check "not with a body over the limit" "413" "$(head -c 2000000 /dev/zero | answer no.test /healthz --data-binary @-)"
check "not under another name" "404" "$(answer no.test /healthz2)"
check "not on a host with rules" "404" "$(answer some.test /healthz)"
put h _ '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "health beats the prefix / of the catch-all" "200 " "$(get no.test /healthz -w '%{http_code} ')"
put h _ '{"exact":{"/healthz":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/healthz","service":"a","port":"80"}]}'
check "a rule for the path beats it" "$A" "$(get no.test /healthz | port_of)"
put h _ '{"regex":[["/h",0]],"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "a matching regex hides it" "$A" "$(get no.test /healthz | port_of)"
put h _ '{"regex":[["/none",0]],"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "another regex does not" "200" "$(answer no.test /healthz)"
drop h _

put h log.test '{"prefix":{"/":0,"/quiet/":1},"policies":[{"namespace":"n"},{"namespace":"n","enable_access_log":false}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/quiet","service":"a","port":"80","policy":1}]}'
get log.test / >/dev/null
get log.test /quiet/ >/dev/null
get nobody.test / >/dev/null
check "logged" 1 "$(logged '^log.test / 200' access)"
check "no access log" 0 "$(logged '^log.test /quiet/' access)"
check "the catch-all's default backend is not logged" 0 "$(logged '^nobody.test' access)"

put h vhost.test '{"prefix":{"/a/":0,"/b/":1},"policies":[{"namespace":"n","upstream_vhost":"fixed.test"},{"namespace":"n","upstream_vhost":"${host}.x-$namespace$nothing$"}],"locations":[{"path":"/a","service":"a","port":"80"},{"path":"/b","service":"a","port":"80","policy":1}]}'
check "upstream vhost" "port=$A host=fixed.test" "$(get vhost.test /a/ | cut -d' ' -f1,2)"
check "upstream vhost with variables" "port=$A host=vhost.test.x-n$" "$(get vhost.test /b/ | cut -d' ' -f1,2)"

put h broken.test '{"locations":'
check "a broken record is no record" "404" "$(answer broken.test /)"
put h broken.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "and a good one replaces it" "$A" "$(get broken.test / | port_of)"
put h broken.test 'nonsense'
check "a broken successor leaves the previous one" "$A" "$(get broken.test / | port_of)"
check "reported once" 1 "$(logged 'record h:broken.test: .*the previous one stays' error)"
put h shape.test '{"prefix":7,"locations":[{"path":null,"rewrite_target":3}]}'
check "a record of another shape is no record" "404 1" "$(answer shape.test /) $(logged 'record h:shape.test: .*it is ignored' error)"
check "no host header at all" "404" "$(printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$HTTP; cat >&3; head -1 <&3" | cut -d' ' -f2)"

# The name of the server that a host would have for itself.
put h name.test '{"prefix":{"/":0},"name":"main.test","policies":[{"namespace":"n","upstream_vhost":"$server_name"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h '*.wild.test' '{"prefix":{"/":0},"policies":[{"namespace":"n","upstream_vhost":"${server_name}"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "the name of another name's host" "host=main.test" "$(get name.test / | grep -o 'host=[^ ]*')"
check "the pattern of a wildcard" 'host=~^(?<subdomain>[\w-]+)\.wild\.test$' "$(get x.wild.test / | grep -o 'host=[^ ]*')"
curl -s -o /dev/null "http://127.0.0.1:$HTTP/" -H 'Host: name.test' -H "X: $(head -c 40000 /dev/zero | tr '\0' x)"
get unnamed.test / >/dev/null
check "in the log" "1 1" "$(logged '^name.test / 200 main.test$' names) $(logged '^unnamed.test / 404 _$' names)"
check "and of a request that ends before it has a location" 1 "$(logged '^name.test .* 400 main.test$' names)"

# A host with a server block of its own, which has locations of two profiles only.
for name in own.test www.own.test; do
    put h "$name" '{"prefix":{"/":0,"/other/":1,"/errors/":2},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/other","service":"a","port":"80","profile":"other"},{"path":"/errors","service":"a","port":"80","profile":"errors"}]}'
    check "$name: only profiles that its server block has are served" "200 200 503" "$(answer "$name" /) $(answer "$name" /other/) $(answer "$name" /errors/)"
done
check "the blocks of hosts are known to the controller" '{"own.test":{"names":["own.test","www.own.test"],"profiles":["base","other"]}}' "$(control /state | jq -cS .host_servers)"
