# shellcheck shell=bash disable=SC2154
# What a route says about proxying: headers of answers, the connection, copies, tries.

backend n/a:80 "$A"
put h repl.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_cookie_domain":["localhost","example.org"],"proxy_cookie_path":["/one/","/"],"proxy_redirect":["http://in/","https://out/"]}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
put h plain.test '{"prefix":{"/":0},"policies":[{"namespace":"n","connection_proxy_header":"keep-alive"}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
header() { get "$1" /headers -o /dev/null -D - | tr -d '\r' | sed -n "s/^$2: //p"; }
check "the domain and the path of cookies" "a=b; Domain=example.org; Path=/two" "$(header repl.test Set-Cookie)"
check "the location" "https://out/x" "$(header repl.test Location)"
put h ported.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_redirect":["http://in/","/"]},"redirects":{"use_port_in_redirects":true}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
check "a location that becomes a path carries the port where the route says so" "http://ported.test:$HTTP/x" "$(header ported.test Location)"
put h pathed.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_redirect":["http://in/","/"]},"redirects":{"relative_redirects":true}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
check "and stays a path where the route says so" "/x" "$(header pathed.test Location)"
put h global.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_redirect":["http://in/","/"]}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
put h same.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_redirect":["http://in/","/four/ten/"]},"redirects":{"use_port_in_redirects":true}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
check "also where NGINX changes the backend's header in place" "http://same.test:$HTTP/four/ten/x" "$(header same.test Location)"
check "a refresh names the path alone" "5; url=/four/ten/x" "$(header same.test Refresh)"
check "and is as the settings say otherwise" "http://global.test/x" "$(header global.test Location)"
check "without a rule nothing is replaced" "a=b; Domain=localhost; Path=/one/two" "$(header plain.test Set-Cookie)"
check "without a rule the location stays" "http://in/x" "$(header plain.test Location)"
relative() { get "$1" /relative -o /dev/null -D - | tr -d '\r' | sed -n "s/^$2: //p"; }
check "a relative location stays relative" "/x" "$(relative plain.test Location)"
check "even where the route names the port" "/x" "$(relative ported.test Location)"
check "a cookie keeps its bytes" "a=b;Path=/" "$(relative plain.test Set-Cookie)"
put h off.test '{"prefix":{"/":0},"policies":[{"namespace":"n","replacements":{"proxy_cookie_domain":["",""],"proxy_cookie_path":["",""],"proxy_redirect":["",""]}}],"locations":[{"path":"/","service":"a","port":"80","profile":"proxying"}]}'
check "what a route switches off changes nothing either" "/x a=b;Path=/" "$(relative off.test Location) $(relative off.test Set-Cookie)"
check "the connection header" "keep-alive" "$(get plain.test /connection)"
check "the connection header of other routes" "" "$(get repl.test /connection)"

put h mirror.test '{"prefix":{"/":0},"policies":[{"namespace":"n","mirror":{"mirror_target":"http://127.0.0.1:'"$B"'/copy$request_uri","mirror_host":"copy.${host}"}}],"locations":[{"path":"/","service":"a","port":"80","profile":"mirror"}]}'
: >"$PREFIX/copies.log"
check "a mirrored request is answered by the backend" "$A" "$(get mirror.test '/m?x=1' -d body | port_of)"
until_is 1 logged 'copy.mirror.test /copy/m?x=1 POST 4' copies
check "the copy does not change what the request is known by" 1 "$(logged '^mirror.test /m 200 .127.0.0.1:'"$A"'. .n/-. .n-a-80.' access)"
complete
put h nothing.test '{"prefix":{"/":0},"policies":[{"namespace":"n","mirror":{"mirror_target":"http://127.0.0.1:'"$B"'/copy/nothing","mirror_host":"h"}}],"locations":[{"path":"/","profile":"mirror"}]}'
check "without a default backend a path without a rule is not found" "404" "$(answer nothing.test /x)"
until_is 1 logged 'h /copy/nothing GET -' copies # A copy is made all the same.
put h sock.test '{"prefix":{"/":0},"policies":[{"namespace":"n","mirror":{"mirror_target":"http://$http_x_host/live","mirror_host":"x"}}],"locations":[{"path":"/","service":"a","port":"80","profile":"mirror"}]}'
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
backend n/raw:80 "$DEAD"
put h vhost.test '{"prefix":{"/":0},"policies":[{"namespace":"n","upstream_vhost":"h$uri"}],"locations":[{"path":"/","service":"raw","port":"80"}]}'
raw vhost &
until_is ready eval '[ -e "$PREFIX/vhost.ready" ] && echo ready'
check "a value of the client's puts no line into the request of upstream-vhost" 200 "$(answer vhost.test '/%0d%0aX-Evil:%201/%0A' )"
wait
check "the Host is one line" "Host: h/%0D%0AX-Evil: 1/%0A" "$(tr -d '\r' <"$PREFIX/vhost" | grep -iE '^(host|x-evil)')"

backend n/a:80 "$A"
put h id.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
ids=$(many id.test '/id?[1-500]')
check "ids of requests are 32 hexadecimal digits, and no two are alike" "500 500" "$(echo "$ids" | grep -cE '^[0-9a-f]{32}$') $(echo "$ids" | sort -u | wc -l)"
check "none has a word of the one before, at any place" 0 "$(echo "$ids" | fold -w 8 | sort | uniq -d | wc -l)"

put b n/dead:80 '{"name":"dead","endpoints":[["127.0.0.1",'"$DEAD"'],["127.0.0.1",'"$DEAD2"']]}'
put h tries.test '{"prefix":{"/":0},"policies":[{"namespace":"n","proxy_next_upstream_tries":1}],"locations":[{"path":"/","service":"dead","port":"80"}]}'
put h more.test '{"prefix":{"/":0},"policies":[{"namespace":"n","proxy_next_upstream_tries":4,"proxy_connect_timeout":1,"proxy_send_timeout":2,"proxy_read_timeout":3}],"locations":[{"path":"/","service":"dead","port":"80"}]}'
check "one try" "502" "$(answer tries.test /)"
check "one try is one endpoint" 1 "$(logged "^tries.test / 502 .127.0.0.1:[0-9]*. " access)"
answer more.test / >/dev/null
check "more tries than the global setting has" 4 "$(grep '^more.test' "$PREFIX/access.log" | grep -o '127.0.0.1:[0-9]*' | wc -l)"
