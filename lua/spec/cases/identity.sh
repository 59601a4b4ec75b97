# shellcheck shell=bash
# Variables that say which route serves a request: set where something reads them.

stop
configure r1 ',"other"' ',"route_variables":["service_name"]'
start
put b n/a:80 '{"name":"n-a-80","endpoints":[["127.0.0.1",'"$A"']]}'
put h id.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
complete
get id.test /before -o /dev/null
until_is 1 logged '^id.test /before 200 .* .n-a-80. ' access
check "what nothing reads is not set" 1 "$(logged '^id.test /before 200 [^ ]* ./. .n-a-80. ' access)"

put h reads.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","upstream_vhost":"$namespace.x"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "what a record reads is set for its first request" "n.x" "$(get reads.test /first | sed -n 's/.*host=\([^ ]*\).*/\1/p')"
until_is 1 logged '^reads.test /first 200 .* .n-a-80. ' access
check "and nothing else" 1 "$(logged '^reads.test /first 200 [^ ]* .n/. ' access)"

exec 8<>"/dev/tcp/127.0.0.1/$HTTP"
printf 'GET  http://id.test/spaces HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n' >&8
check "a request in absolute form has one host, however many spaces are before it" "id.test" "$(sed -n 's/.*host=\([^ ]*\).*/\1/p' <&8)"
exec 8>&-
