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

# A backend that shows the bytes of a request.
raw() { # FILE
    perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], Listen => 1, ReuseAddr => 1) or die;
        open my $r, ">", "$ARGV[1].ready"; close $r; my $c = $s->accept; my $t = ""; while ($t !~ /\r\n\r\n/ && sysread($c, my $b, 4096)) { $t .= $b }
        open my $f, ">", "$ARGV[1].new"; print $f $t; close $f; rename "$ARGV[1].new", $ARGV[1];
        print $c "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"' "$DEAD" "$PREFIX/$1"
}
backend ns/raw:80 "$DEAD"
put h vhost.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/raw:80","vhost":"h$uri"}]}'
raw vhost &
until_is ready eval '[ -e "$PREFIX/vhost.ready" ] && echo ready'
check "a value of the client's puts no line into the request of upstream-vhost" 200 "$(answer vhost.test '/%0d%0aX-Evil:%201/%0A' )"
wait
check "the Host is one line" "Host: h/%0D%0AX-Evil: 1/%0A" "$(tr -d '\r' <"$PREFIX/vhost" | grep -iE '^(host|x-evil)')"

backend ns/a:80 "$A"
put h id.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/a:80"}]}'
ids=$(many id.test '/id?[1-500]')
check "ids of requests are 32 hexadecimal digits, and no two are alike" "500 500" "$(echo "$ids" | grep -cE '^[0-9a-f]{32}$') $(echo "$ids" | sort -u | wc -l)"
check "none has a word of the one before, at any place" 0 "$(echo "$ids" | fold -w 8 | sort | uniq -d | wc -l)"

put b ns/dead:80 '{"name":"dead","eps":[["127.0.0.1",'"$DEAD"'],["127.0.0.1",'"$DEAD2"']]}'
put h tries.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/dead:80","tries":1}]}'
put h more.test '{"prefix":{"/":0},"routes":[{"ns":"n","path":"/","be":"ns/dead:80","tries":4,"to":[1,2,3]}]}'
check "one try" "502" "$(answer tries.test /)"
check "one try is one endpoint" 1 "$(logged "^tries.test / 502 .127.0.0.1:[0-9]*. " access)"
answer more.test / >/dev/null
check "more tries than the global setting has" 4 "$(grep '^more.test' "$PREFIX/access.log" | grep -o '127.0.0.1:[0-9]*' | wc -l)"
