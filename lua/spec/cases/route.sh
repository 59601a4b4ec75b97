# shellcheck shell=bash disable=SC2154
# Hosts, paths, answers without a backend, variables.

check "unknown host, not everything was sent yet" "503" "$(answer no.test /)"
control /generation -d spec >/dev/null
check "unknown host, nothing configured" "404" "$(answer no.test /)"
backend ns/a:80 "$A"
backend ns/b:80 "$B"
backend ns/none:80
put h foo.test '{"exact":{"/foo":0,"/both":2},"prefix":{"/foo/":0,"/":1,"/foo/deep/":2,"/slash/":2},"routes":[
{"ns":"n","ing":"i","svc":"a","port":"80","path":"/foo","be":"ns/a:80"},
{"ns":"n","ing":"i","svc":"b","port":"http","path":"/","be":"ns/b:80"},
{"ns":"n","ing":"i2","svc":"a","port":"80","path":"/foo/deep","be":"ns/a:80","prof":"other"}]}' # not one line: refused below
check "a value with newlines is not one record" "404" "$(answer foo.test /)"
put h foo.test '{"exact":{"/foo":0,"/both":2,"/only/":1},"prefix":{"/foo/":0,"/":1,"/foo/deep/":2,"/slash/":2},"routes":[{"ns":"n","ing":"i","svc":"a","port":"80","path":"/foo","be":"ns/a:80"},{"ns":"n","ing":"i","svc":"b","port":"http","path":"/","be":"ns/b:80"},{"ns":"n","ing":"i2","svc":"a","port":"80","path":"/foo/deep","be":"ns/a:80","prof":"other"}]}'
check "exact, all variables" "port=$A host=foo.test uri=/foo?x=1 route=n|i|a|80|/foo|ns-a-80|ns/a:80" "$(get foo.test '/foo?x=1')"
check "prefix" "port=$A host=foo.test uri=/foo/x route=n|i|a|80|/foo|ns-a-80|ns/a:80" "$(get foo.test /foo/x)"
check "prefix is by elements, root catches" "$B" "$(get foo.test /foobar | port_of)"
check "longest prefix, other profile" "port=$A host=foo.test uri=/foo/deep/%41 route=other" "$(get foo.test /foo/deep/%41)"
check "matching is case-sensitive" "$B" "$(get foo.test /FOO | port_of)"
check "matching on the normalised path, raw target to the backend" "port=$A host=foo.test uri=/x/..//f%6Fo route=n|i|a|80|/foo|ns-a-80|ns/a:80" "$(get foo.test '/x/..//f%6Fo')"
check "host in upper case with port and dot" "$A" "$(get FOO.Test.:1234 /foo | port_of)"
check "a missing slash" "301 http://foo.test/slash/?a=b" "$(answer foo.test '/slash?a=b')"
check "an exact path that ends in a slash redirects nobody" "200" "$(answer foo.test /only)"

# What stands in the request line takes the place of Host.
put h abs.test '{"prefix":{"/":0},"routes":[{"ns":"n","ing":"i","path":"/","be":"ns/a:80"}]}'
absolute() { get foo.test / --request-target "$1" "${@:2}"; }
check "a request in absolute form reaches backends under its own authority" "port=$A host=abs.test uri=/x?a=b route=n|i|||/|ns-a-80|ns/a:80" "$(absolute 'http://abs.test/x?a=b')"
check "with its port and letters, whatever the scheme" "port=$A host=ABS.test:81 uri=/x route=n|i|||/|ns-a-80|ns/a:80" "$(absolute 'HTTPS://ABS.test:81/x')"
check "without a path, and without a Host" "port=$A host=abs.test:81 uri=/ route=n|i|||/|ns-a-80|ns/a:80" "$(absolute 'http://abs.test:81' -0 -H 'Host:')"
check "a path that looks like one is none" "port=$B host=foo.test uri=/http://abs.test/x route=n|i|b|http|/|ns-b-80|ns/b:80" "$(absolute '/http://abs.test/x')"
check "an authority that is none is refused" "400 400" "$(absolute 'http://me@abs.test/' -o /dev/null -w '%{http_code}') $(absolute 'http:///x' -o /dev/null -w '%{http_code}')"
put h absdir.test '{"prefix":{"/d/":0},"routes":[{"ns":"n","ing":"i","path":"/","be":"ns/a:80"}]}'
check "redirects lead to it" "301 http://absdir.test/d/" "$(absolute 'http://absdir.test/d' -o /dev/null -w '%{http_code} %header{location}')"

put h '*.wild.test' '{"prefix":{"/":0},"routes":[{"ns":"w","ing":"w","path":"/","be":"ns/a:80"}]}'
put h 'own.wild.test' '{"prefix":{"/":0},"routes":[{"be":"ns/b:80","path":"/"}]}'
check "wildcard host" "$A" "$(get a_1-b.wild.test / | port_of)"
check "an own record beats the wildcard" "$B" "$(get own.wild.test / | port_of)"
check "the wildcard covers one label only" "404" "$(answer a.b.wild.test /)"
check "the wildcard does not cover its parent" "404" "$(answer wild.test /)"
check "a star is no label" "404" "$(answer '*.wild.test' /)"
check "a label of other characters" "404" "$(answer 'a+b.wild.test' /)"
drop h own.wild.test
check "a removed host falls back to the wildcard at once" "$A" "$(get own.wild.test / | port_of)"

put h alias.host '{"prefix":{"/":0},"routes":[{"path":"/alias","be":"ns/a:80"}]}'
put h '~' '{"names":{"suffix":{".wild.test":"alias.host",".test2":"alias.host",".deep.test2":"foo.test",".gone":"no.host"},"regex":[["(",""],["^x[0-9]+\\.re$","alias.host"],["^x","foo.test"]]},"routes":[]}'
path_of() { get "$1" /foo | sed 's/.*route=[^|]*|[^|]*|[^|]*|[^|]*|\([^|]*\)|.*/\1/'; }
check "server_alias: a suffix of any number of labels, before a wildcard host" "/alias /alias" "$(path_of a.b.wild.test) $(path_of one.wild.test)"
check "server_alias: the longest suffix, and not the name alone" "/foo /alias 404" "$(path_of a.deep.test2) $(path_of a.test2) $(answer test2 /foo)"
check "server_alias: a regular expression, the first that matches" "/alias /foo" "$(path_of X12.re) $(path_of x12.other)"
check "a suffix of a host that is gone" 404 "$(answer a.gone /)"
check "the list is no host" "404 404" "$(answer '~' /) $(answer '~x' /)"
drop h '~'
put h some.test '{"prefix":{"/x/":0},"routes":[{"path":"/x","be":"ns/a:80"}]}'
check "no path matches: the default backend, which is missing" "404" "$(answer some.test /y)"
check "the stock page" "1" "$(get some.test /y | grep -c '<center>nginx</center>')"
backend - "$C"
check "the default backend" "port=$C host=some.test uri=/y route=|||||-|-" "$(get some.test /y)"
check "unknown host goes there too" "$C" "$(get no.test /y | port_of)"
put b - '{"name":"upstream-default-backend","eps":[]}'
check "an empty default backend is the built-in 404" "404" "$(answer no.test /)"

put h err.test '{"prefix":{"/none/":0,"/gone/":1,"/deny/":2,"/":3},"routes":[{"ns":"n","ing":"e","path":"/none","be":"ns/none:80"},{"ns":"n","path":"/gone","be":"ns/gone:80"},{"path":"/deny","be":"ns/a:80","deny":true},{"ns":"n","path":"/"}]}'
check "no endpoints" "503" "$(answer err.test /none/)"
check "no such backend" "503" "$(answer err.test /gone/)"
check "denied" "503" "$(answer err.test /deny/)"
check "a route to the default backend that has none" "404" "$(answer err.test /)"
check "an answer without a backend is logged with its identity" "1" "$(logged 'err.test /none/ 503 \[-\] \[n/e\] \[ns-none-80\]' access)"

check "health of the catch-all" "200 0" "$(get no.test /healthz -o /dev/null -w '%{http_code} %header{content-length}')"
check "it is not logged" "0" "$(logged ' /healthz ' access)"
check "without a Host header too" "200" "$(nameless /healthz)"
check "not with a body over the limit" "413" "$(head -c 2000000 /dev/zero | answer no.test /healthz --data-binary @-)"
check "not under another name" "404" "$(answer no.test /healthz2)"
check "not on a host with rules" "404" "$(answer some.test /healthz)"
put h _ '{"prefix":{"/":0},"routes":[{"path":"/","be":"ns/a:80"}]}'
check "health beats the prefix / of the catch-all" "200 " "$(get no.test /healthz -w '%{http_code} ')"
put h _ '{"exact":{"/healthz":0},"routes":[{"path":"/healthz","be":"ns/a:80"}]}'
check "a rule for the path beats it" "$A" "$(get no.test /healthz | port_of)"
put h _ '{"regex":[["/h",0]],"routes":[{"path":"/","be":"ns/a:80"}]}'
check "a matching regex hides it" "$A" "$(get no.test /healthz | port_of)"
put h _ '{"regex":[["/none",0]],"routes":[{"path":"/","be":"ns/a:80"}]}'
check "another regex does not" "200" "$(answer no.test /healthz)"
drop h _

put h log.test '{"prefix":{"/":0,"/quiet/":1},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/quiet","be":"ns/a:80","nolog":true}]}'
get log.test / >/dev/null
get log.test /quiet/ >/dev/null
get nobody.test / >/dev/null
check "logged" 1 "$(logged '^log.test / 200' access)"
check "no access log" 0 "$(logged '^log.test /quiet/' access)"
check "the catch-all's default backend is not logged" 0 "$(logged '^nobody.test' access)"

put h vhost.test '{"prefix":{"/a/":0,"/b/":1},"routes":[{"path":"/a","be":"ns/a:80","vhost":"fixed.test"},{"path":"/b","be":"ns/a:80","vhost":"${host}.x-$namespace$nothing$"}]}'
check "upstream vhost" "port=$A host=fixed.test" "$(get vhost.test /a/ | cut -d' ' -f1,2)"
check "upstream vhost with variables" "port=$A host=vhost.test.x-$" "$(get vhost.test /b/ | cut -d' ' -f1,2)"

put h broken.test '{"routes":'
check "a broken record is no record" "404" "$(answer broken.test /)"
put h broken.test '{"prefix":{"/":0},"routes":[{"path":"/","be":"ns/a:80"}]}'
check "and a good one replaces it" "$A" "$(get broken.test / | port_of)"
put h broken.test 'nonsense'
check "a broken successor leaves the previous one" "$A" "$(get broken.test / | port_of)"
check "reported once" 1 "$(logged 'record h:broken.test: .*the previous one stays' error)"
put h shape.test '{"prefix":7,"routes":[{"path":null,"rw":3}]}'
check "a record of another shape is no record" "404 1" "$(answer shape.test /) $(logged 'record h:shape.test: .*it is ignored' error)"
check "no host header at all" "404" "$(printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$HTTP; cat >&3; head -1 <&3" | cut -d' ' -f2)"

# The name of the server that a host would have for itself.
put h name.test '{"prefix":{"/":0},"name":"main.test","routes":[{"path":"/","be":"ns/a:80","vhost":"$server_name"}]}'
put h '*.wild.test' '{"prefix":{"/":0},"routes":[{"path":"/","be":"ns/a:80","vhost":"${server_name}"}]}'
check "the name of another name's host" "host=main.test" "$(get name.test / | grep -o 'host=[^ ]*')"
check "the pattern of a wildcard" 'host=~^(?<subdomain>[\w-]+)\.wild\.test$' "$(get x.wild.test / | grep -o 'host=[^ ]*')"
curl -s -o /dev/null "http://127.0.0.1:$HTTP/" -H 'Host: name.test' -H "X: $(head -c 40000 /dev/zero | tr '\0' x)"
get unnamed.test / >/dev/null
check "in the log" "1 1" "$(logged '^name.test / 200 main.test$' names) $(logged '^unnamed.test / 404 _$' names)"
check "and of a request that ends before it has a location" 1 "$(logged '^name.test .* 400 main.test$' names)"

# A host with a server block of its own, which has locations of two profiles only.
for name in own.test www.own.test; do
    put h "$name" '{"prefix":{"/":0,"/other/":1,"/errors/":2},"routes":[{"path":"/","be":"ns/a:80"},{"path":"/other","prof":"other","be":"ns/a:80"},{"path":"/errors","prof":"errors","be":"ns/a:80"}]}'
    check "$name: only profiles that its server block has are served" "200 200 503" "$(answer "$name" /) $(answer "$name" /other/) $(answer "$name" /errors/)"
done
check "the blocks of hosts are known to the controller" '{"own.test":{"names":["own.test","www.own.test"],"profiles":["base","other"]}}' "$(control /state | jq -cS .shells)"
