# shellcheck shell=bash disable=SC2154
# Cookie affinity: who goes where, and the cookie.

sticky() { # RULE PORT...
    local rule=$1 eps= port
    shift
    for port in "$@"; do eps="$eps${eps:+,}[\"127.0.0.1\",$port]"; done
    put b ns/s:80 '{"name":"ns-s-80","sticky":{'"$rule"'},"eps":['"$eps"']}'
}
hex() { printf %s "$1" | md5sum | cut -d' ' -f1; }
owner() { hex "$(hex "$1")$1"; }
set_cookie() { get s.test "${1:-/}" -D- -o /dev/null "${@:2}" | cookies; }
value() { sed 's/;.*//; s/^[^=]*=//'; }

put h s.test '{"prefix":{"/":0,"/other/":1,"/foo/":2},"routes":[{"path":"/","be":"ns/s:80","stick":true},{"path":"/other","be":"ns/s:80"},{"path":"/foo","be":"ns/s:80","stick":true,"prof":"other"}]}'
sticky '"name":"route"' "$A" "$B" "$C"
check "a new client gets a cookie of two parts" 1 "$(set_cookie | grep -cE "^route=[0-9]+\.[0-9]{3}\.[0-9]+\.[0-9]+\|$(owner ns-s-80); Path=/; HttpOnly$")"
cookie=$(set_cookie | value)
check "the cookie leads to one endpoint" 1 "$(many s.test '/[1-30]' -b "route=$cookie" | ports | wc -w)"
check "a known client gets no cookie" "" "$(set_cookie / -b "route=$cookie")"
check "new clients are spread" 3 "$(many s.test '/[1-60]' | ports | wc -w)"
check "a path of another Ingress sets no cookie" "" "$(set_cookie /other/)"
check "and follows one" "$(get s.test / -b "route=$cookie" | port_of)" "$(get s.test /other/ -b "route=$cookie" | port_of)"
check "a cookie outlives the change to a profile, and names the rule's path" 1 "$(set_cookie /foo/x | grep -c '; Path=/foo; ')"
check "a cookie of one part leads somewhere, too" "" "$(set_cookie / -b 'route=anything')"
check "the backend's own cookies stay" 2 "$(get s.test / -D- -o /dev/null -H 'X-Set: 1' | cookies | wc -l)"

sticky '"name":"SERVERID","expires":172800,"age":-1,"domain":"foo.bar","path":"/p","secure":true,"site":"Lax"' "$A"
check "attributes and their order" 1 "$(set_cookie | grep -cE '^SERVERID=[^;]*; Expires=[A-Z][a-z]{2}, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8} GMT; Max-Age=-1; Domain=foo.bar; Path=/p; Secure; HttpOnly; SameSite=Lax$')"
sticky '"name":"route"' "$A"
check "secure over TLS" 1 "$(tls s.test / -D- -o /dev/null | cookies | grep -c '; Path=/; Secure; HttpOnly$')"
put h odd.test '{"prefix":{"/":0},"routes":[{"path":"/a;b c\u0001é(.*)","be":"ns/s:80","stick":true}]}'
check "a path can't add attributes" 1 "$(get odd.test / -D- -o /dev/null | cookies | grep -c '; Path=/a%3Bb%20c%01%C3%A9(.\*); HttpOnly$')"

site() { set_cookie / -A "$1" | grep -c SameSite; }
sticky '"name":"route","site":"None","cond":true' "$A"
check "SameSite=None for a browser of today" 1 "$(site 'Mozilla/5.0 (Windows NT 10.0) Chrome/138.0.0.0 Safari/537.36')"
check "for one that says nothing" 1 "$(site '')"
check "not for Chrome 51" 0 "$(site 'Mozilla/5.0 (X11; Linux) Chrome/51.0 Safari/537.36')"
check "not for iOS 12" 0 "$(site 'Mozilla/5.0 (iPhone; CPU iPhone OS 12_1 like Mac OS X) Safari/604.1')"
safari='Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605 Version/12.1'
check "not for Safari of macOS 10.14" 0 "$(site "$safari Safari/605.1")"
check "but for Chrome there" 1 "$(site "$safari Chrome/138.0 Safari/605.1")"
sticky '"name":"route","site":"None"' "$A"
check "unconditionally without the condition" 1 "$(site "$safari Safari/605.1")"

sticky '"name":"route"' "$DEAD" "$A" "$DEAD2"
check "a new client is not left with what failed" 1 "$(set_cookie | wc -l)"
cookie=$(set_cookie | value)
check "its cookie leads to what answered" "$A:20 " "$(many s.test '/[1-20]' -b "route=$cookie" | ports)"
sticky '"name":"route"' "$A"
cookie=$(set_cookie | value)
sticky '"name":"route"' "$DEAD"
check "a session stays with its endpoint" 502 "$(answer s.test / -b "route=$cookie")"
sticky '"name":"route","move":true' "$DEAD" "$A"
for key in k1 k2 k3 k4 k5 k6 k7 k8 k9; do [ "$(get s.test / -b "route=$key" -D- -o /dev/null | cookies)" ] && break; done
check "a session may move" "200" "$(answer s.test / -b "route=$key")"
moved=$(set_cookie / -b "route=$key" | value)
check "with another cookie" "$A:10 " "$(many s.test '/[1-10]' -b "route=$moved" | ports)"
check "that is kept" "" "$(set_cookie / -b "route=$moved")"
sticky '"name":"route","move":true' "$DEAD"
check "a session with nowhere to move gets the failure" 502 "$(answer s.test / -b "route=$key")"
sticky '"name":"route","move":true' "$DEAD" "$DEAD2"
check "also after all were tried" 502 "$(answer s.test / -b "route=$key")"
sticky '"name":"route","move":true,"persist":true' "$DEAD"
check "and with persistent cookies" 502 "$(answer s.test / -b "route=$key")"

sticky '"name":"route","persist":true' "$A" "$B" "$C"
cookie=$(set_cookie | value)
port=$(get s.test / -b "route=$cookie" | port_of)
check "a persistent cookie by the rule" "$(hex "ns-s-80127.0.0.1:$port")|$(owner ns-s-80)" "$cookie"
all_cookies=$(for p in "$A" "$B" "$C"; do echo "$(hex "ns-s-80127.0.0.1:$p")|$(owner ns-s-80) $p"; done)
stay() { while read -r c p; do get s.test / -b "route=$c" | grep -c "^port=$p "; done <<<"$all_cookies" | grep -c 1; }
check "each leads to its endpoint" 3 "$(stay)"
sticky '"name":"route","persist":true' "$SLOW" "$A" "$C" "$B"
check "none moves when endpoints come" 3 "$(stay)"
check "an unknown one gets another" 1 "$(set_cookie / -b 'route=unknown|x' | wc -l)"
sticky '"name":"route","persist":true' "$A" "$C"
check "none moves but the one whose endpoint left" 2 "$(stay)"
sticky '"name":"route","persist":true' "$A" "$DEAD"
check "a new persistent client is not left with what failed" "$A:20 " "$(many s.test '/[1-20]' | ports)"

sticky '"name":"route"' "$A" "$B"
before=$(for k in {1..60}; do echo "$k $(get s.test / -b "route=key$k" | port_of)"; done)
sticky '"name":"route"' "$A" "$B" "$C"
after=$(for k in {1..60}; do echo "$k $(get s.test / -b "route=key$k" | port_of)"; done)
check "balanced: some move to the new endpoint, no others" 0 "$(join <(sort <<<"$before") <(sort <<<"$after") | awk -v new="$C" '$2 != $3 && $3 != new' | wc -l)"

# A and B with the canary C.
with_canary() { # FIELDS of the alternative
    put b ns/s:80 '{"name":"ns-s-80","sticky":{"name":"route"},"alt":{"be":"ns/c:80","header":"X-Go",'"$1"'},"eps":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$B"']]}'
}
backend ns/c:80 "$C"
with_canary '"sticky":true'
cookie=$(set_cookie / -H 'X-Go: always' | value)
check "a cookie for the canary" "$(owner ns-c-80)" "${cookie#*|}"
check "who is bound to the canary stays there" "$C:10 " "$(many s.test '/[1-10]' -b "route=$cookie" | ports)"
check "whatever the header says" "$C" "$(get s.test / -b "route=$cookie" -H 'X-Go: never' | port_of)"
cookie=$(set_cookie / -H 'X-Go: never' | value)
check "who is bound to the primary does, too" 0 "$(many s.test '/[1-10]' -b "route=$cookie" -H 'X-Go: always' | grep -c "^port=$C ")"
check "who is bound elsewhere is drawn" "$C" "$(get s.test / -b "route=x|y" -H 'X-Go: always' | port_of)"
with_canary '"weight":0'
check "a canary without affinity sets no cookie" "" "$(set_cookie / -H 'X-Go: always')"
check "and binds nobody" 0 "$(many s.test '/[1-10]' -b "route=k|$(owner ns-c-80)" | grep -c "^port=$C ")"
