# shellcheck shell=bash disable=SC2154
# Where requests of NGINX's own must not go.

configure r2 ',"asks","mirror"' ',"local_networks":["127.0.0.0/8","::1/128","169.254.0.0/16"]'
reload r2
backend n/a:80 "$A"
code() { answer "$@" | cut -d" " -f1; }
# asked HOST URL [FIELDS]: a route that is put before a service.
asked() { one_route "$1" '"external_auth":{"auth_url":"'"$2"'","host":"x"'"${3:-}"'}' '"profile":"asks"'; }

asked to.test "http://\$http_x_to:$AUTH/uncached"
for to in 127.0.0.1 127.9.9.9 '[::1]' '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' localhost LOCALHOST. a.localhost 169.254.169.254 'a@127.0.0.1' ''; do
    check "a service is not at \"$to\"" 500 "$(code to.test / -H "X-To: $to")"
done
check "which is logged with what was found" 1 "$(logged 'auth-url leads to 127.9.9.9: 127.9.9.9:'"$AUTH"', which no Pod has; --allow-local-endpoints allows it' error)"
asked upstream.test "http://narthex_outside/uncached"
check "nor at an upstream block of ours" 500 "$(code upstream.test /)"
asked trusted.test "http://127.0.0.1:$AUTH/uncached" ',"trusted":true'
check "but where the administrator says so" 200 "$(code trusted.test /)"

put h copy.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","mirror":{"mirror_target":"http://127.0.0.1:'"$B"'/copy/local","mirror_host":"h"}}],"locations":[{"path":"/","service":"a","port":"80","profile":"mirror"}]}'
check "a request whose copy goes nowhere is answered" "$A" "$(get copy.test / | port_of)"
until_is 1 logged "mirror-target leads to 127.0.0.1: 127.0.0.1:$B, which no Pod has" error
check "and no copy is made" 0 "$(logged '/copy/local' copies)"

configure r3 ',"asks"' ',"control_ports":['"$AUTH"']'
reload r3
check "a control port of this machine is none" 500 "$(code to.test / -H 'X-To: 127.0.0.1')"
