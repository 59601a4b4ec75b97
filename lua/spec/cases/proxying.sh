# shellcheck shell=bash disable=SC2154
# What a route says about proxying: headers of answers, the connection, copies, tries.

backend ns/a:80 "$A"
put h repl.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"proxying","be":"ns/a:80","repl":{"dom":["localhost","example.org"],"path":["/one/","/"],"loc":["http://in/","https://out/"]}}]}'
put h plain.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"proxying","be":"ns/a:80","conn":"keep-alive"}]}'
header() { get "$1" /headers -o /dev/null -D - | tr -d '\r' | sed -n "s/^$2: //p"; }
check "the domain and the path of cookies" "a=b; Domain=example.org; Path=/two" "$(header repl.test Set-Cookie)"
check "the location" "https://out/x" "$(header repl.test Location)"
check "without a rule nothing is replaced" "a=b; Domain=localhost; Path=/one/two" "$(header plain.test Set-Cookie)"
check "without a rule the location stays" "http://in/x" "$(header plain.test Location)"
relative() { get "$1" /relative -o /dev/null -D - | tr -d '\r' | sed -n "s/^$2: //p"; }
check "a relative location stays relative" "/x" "$(relative plain.test Location)"
check "a cookie keeps its bytes" "a=b;Path=/" "$(relative plain.test Set-Cookie)"
put h off.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"proxying","be":"ns/a:80","repl":{"dom":["",""],"path":["",""],"loc":["",""]}}]}'
check "what a route switches off changes nothing either" "/x a=b;Path=/" "$(relative off.test Location) $(relative off.test Set-Cookie)"
check "the connection header" "keep-alive" "$(get plain.test /connection)"
check "the connection header of other routes" "" "$(get repl.test /connection)"

put h mirror.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"mirror","be":"ns/a:80","mir":{"url":"http://127.0.0.1:'"$B"'/copy$request_uri","host":"copy.${host}","id":"x"}}]}'
: >"$PREFIX/copies.log"
check "a mirrored request is answered by the backend" "$A" "$(get mirror.test '/m?x=1' -d body | port_of)"
until_is 1 logged 'copy.mirror.test /copy/m?x=1 POST 4' copies
check "the copy does not change what the request is known by" 1 "$(logged '^mirror.test /m 200 .127.0.0.1:'"$A"'. .n/-. .ns-a-80.' access)"
control /generation -d g >/dev/null
put h nothing.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"mirror","mir":{"url":"http://127.0.0.1:'"$B"'/copy/nothing","host":"h","id":"x"}}]}'
check "without a default backend a path without a rule is not found" "404" "$(answer nothing.test /x)"
until_is 1 logged 'h /copy/nothing GET -' copies # A copy is made all the same.
put h sock.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","prof":"mirror","be":"ns/a:80","mir":{"url":"http://$http_x_host/live","host":"x","id":"x"}}]}'
check "a copy can't go to the control socket" "$A" "$(get sock.test / -H "X-Host: unix:$PREFIX/control.sock:" -d "=h${T}taken.test${T}{}" | port_of)"
check "and leaves no record there" 404 "$(control '/record?t=h&k=taken.test' -o /dev/null -w '%{http_code}')"
check "which is logged" 1 "$(logged 'mirror-target leads to a unix socket' error)"

put b ns/dead:80 '{"name":"dead","eps":[["127.0.0.1",'"$DEAD"'],["127.0.0.1",'"$DEAD2"']]}'
put h tries.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/dead:80","tries":1}]}'
put h more.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/dead:80","tries":4,"to":[1,2,3]}]}'
check "one try" "502" "$(answer tries.test /)"
check "one try is one endpoint" 1 "$(logged "^tries.test / 502 .127.0.0.1:[0-9]*. " access)"
answer more.test / >/dev/null
check "more tries than the global setting has" 4 "$(grep '^more.test' "$PREFIX/access.log" | grep -o '127.0.0.1:[0-9]*' | wc -l)"
