# shellcheck shell=bash disable=SC2154
# Cookie affinity: who goes where, and the cookie.

sticky() { # RULE PORT...
    local rule=$1 eps= port
    shift
    for port in "$@"; do eps="$eps${eps:+,}[\"127.0.0.1\",$port]"; done
    put b n/s:80 '{"name":"n-s-80","affinity":{'"$rule"'},"endpoints":['"$eps"']}'
}
hex() { printf %s "$1" | md5sum | cut -d' ' -f1; }
owner() { hex "$(hex "$1")$1"; }
set_cookie() { get s.test "${1:-/}" -D- -o /dev/null "${@:2}" | cookies; }
value() { sed 's/;.*//; s/^[^=]*=//'; }

put h s.test '{"prefix":{"/":0,"/other/":1,"/foo/":2},"policies":[{"namespace":"n","issues_cookie":true},{"namespace":"n"}],"locations":[{"path":"/","service":"s","port":"80"},{"path":"/other","service":"s","port":"80","policy":1},{"path":"/foo","service":"s","port":"80","profile":"other"}]}'
sticky '"session_cookie_name":"route"' "$A" "$B" "$C"
check "a new client gets a cookie of two parts" 1 "$(set_cookie | grep -cE "^route=[0-9]+\.[0-9]{3}\.[0-9]+\.[0-9]+\|$(owner n-s-80); Path=/; HttpOnly$")"
cookie=$(set_cookie | value)
check "the cookie leads to one endpoint" 1 "$(many s.test '/[1-30]' -b "route=$cookie" | ports | wc -w)"
check "a known client gets no cookie" "" "$(set_cookie / -b "route=$cookie")"
check "new clients are spread" 3 "$(many s.test '/[1-60]' | ports | wc -w)"
check "a path of another Ingress sets no cookie" "" "$(set_cookie /other/)"
check "and follows one" "$(get s.test / -b "route=$cookie" | port_of)" "$(get s.test /other/ -b "route=$cookie" | port_of)"
check "a cookie outlives the change to a profile, and names the rule's path" 1 "$(set_cookie /foo/x | grep -c '; Path=/foo; ')"
check "a cookie of one part leads somewhere, too" "" "$(set_cookie / -b 'route=anything')"
check "the backend's own cookies stay" 2 "$(get s.test / -D- -o /dev/null -H 'X-Set: 1' | cookies | wc -l)"

sticky '"session_cookie_name":"SERVERID","session_cookie_expires":172800,"session_cookie_max_age":-1,"session_cookie_domain":"foo.bar","session_cookie_path":"/p","session_cookie_secure":true,"session_cookie_samesite":"Lax"' "$A"
check "attributes and their order" 1 "$(set_cookie | grep -cE '^SERVERID=[^;]*; Expires=[A-Z][a-z]{2}, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9:]{8} GMT; Max-Age=-1; Domain=foo.bar; Path=/p; Secure; HttpOnly; SameSite=Lax$')"
sticky '"session_cookie_name":"route"' "$A"
check "secure over TLS" 1 "$(tls s.test / -D- -o /dev/null | cookies | grep -c '; Path=/; Secure; HttpOnly$')"
put h odd.test '{"prefix":{"/":0},"policies":[{"namespace":"n","issues_cookie":true}],"locations":[{"path":"/a;b c\u0001é(.*)","service":"s","port":"80"}]}'
check "a path can't add attributes" 1 "$(get odd.test / -D- -o /dev/null | cookies | grep -c '; Path=/a%3Bb%20c%01%C3%A9(.\*); HttpOnly$')"

site() { set_cookie / -A "$1" | grep -c SameSite; }
sticky '"session_cookie_name":"route","session_cookie_samesite":"None","session_cookie_conditional_samesite_none":true' "$A"
check "SameSite=None for a browser of today" 1 "$(site 'Mozilla/5.0 (Windows NT 10.0) Chrome/138.0.0.0 Safari/537.36')"
check "for one that says nothing" 1 "$(site '')"
check "not for Chrome 51" 0 "$(site 'Mozilla/5.0 (X11; Linux) Chrome/51.0 Safari/537.36')"
check "not for iOS 12" 0 "$(site 'Mozilla/5.0 (iPhone; CPU iPhone OS 12_1 like Mac OS X) Safari/604.1')"
safari='Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605 Version/12.1'
check "not for Safari of macOS 10.14" 0 "$(site "$safari Safari/605.1")"
check "but for Chrome there" 1 "$(site "$safari Chrome/138.0 Safari/605.1")"
sticky '"session_cookie_name":"route","session_cookie_samesite":"None"' "$A"
check "unconditionally without the condition" 1 "$(site "$safari Safari/605.1")"

sticky '"session_cookie_name":"route"' "$DEAD" "$A" "$DEAD2"
check "a new client is not left with what failed" 1 "$(set_cookie | wc -l)"
cookie=$(set_cookie | value)
check "its cookie leads to what answered" "$A:20 " "$(many s.test '/[1-20]' -b "route=$cookie" | ports)"
sticky '"session_cookie_name":"route"' "$A"
cookie=$(set_cookie | value)
sticky '"session_cookie_name":"route"' "$DEAD"
check "a session stays with its endpoint" 502 "$(answer s.test / -b "route=$cookie")"
sticky '"session_cookie_name":"route","session_cookie_change_on_failure":true' "$DEAD" "$A"
for key in k1 k2 k3 k4 k5 k6 k7 k8 k9; do [ "$(get s.test / -b "route=$key" -D- -o /dev/null | cookies)" ] && break; done
check "a session may move" "200" "$(answer s.test / -b "route=$key")"
moved=$(set_cookie / -b "route=$key" | value)
check "with another cookie" "$A:10 " "$(many s.test '/[1-10]' -b "route=$moved" | ports)"
check "that is kept" "" "$(set_cookie / -b "route=$moved")"
sticky '"session_cookie_name":"route","session_cookie_change_on_failure":true' "$DEAD"
check "a session with nowhere to move gets the failure" 502 "$(answer s.test / -b "route=$key")"
sticky '"session_cookie_name":"route","session_cookie_change_on_failure":true' "$DEAD" "$DEAD2"
check "also after all were tried" 502 "$(answer s.test / -b "route=$key")"
sticky '"session_cookie_name":"route","session_cookie_change_on_failure":true,"persistent":true' "$DEAD"
check "and with persistent cookies" 502 "$(answer s.test / -b "route=$key")"

sticky '"session_cookie_name":"route","persistent":true' "$A" "$B" "$C"
cookie=$(set_cookie | value)
port=$(get s.test / -b "route=$cookie" | port_of)
check "a persistent cookie by the rule" "$(hex "n-s-80127.0.0.1:$port")|$(owner n-s-80)" "$cookie"
all_cookies=$(for p in "$A" "$B" "$C"; do echo "$(hex "n-s-80127.0.0.1:$p")|$(owner n-s-80) $p"; done)
stay() { while read -r c p; do get s.test / -b "route=$c" | grep -c "^port=$p "; done <<<"$all_cookies" | grep -c 1; }
check "each leads to its endpoint" 3 "$(stay)"
sticky '"session_cookie_name":"route","persistent":true' "$SLOW" "$A" "$C" "$B"
check "none moves when endpoints come" 3 "$(stay)"
check "an unknown one gets another" 1 "$(set_cookie / -b 'route=unknown|x' | wc -l)"
sticky '"session_cookie_name":"route","persistent":true' "$A" "$C"
check "none moves but the one whose endpoint left" 2 "$(stay)"
sticky '"session_cookie_name":"route","persistent":true' "$A" "$DEAD"
check "a new persistent client is not left with what failed" "$A:20 " "$(many s.test '/[1-20]' | ports)"

sticky '"session_cookie_name":"route"' "$A" "$B"
before=$(for k in {1..60}; do echo "$k $(get s.test / -b "route=key$k" | port_of)"; done)
sticky '"session_cookie_name":"route"' "$A" "$B" "$C"
after=$(for k in {1..60}; do echo "$k $(get s.test / -b "route=key$k" | port_of)"; done)
check "balanced: some move to the new endpoint, no others" 0 "$(join <(sort <<<"$before") <(sort <<<"$after") | awk -v new="$C" '$2 != $3 && $3 != new' | wc -l)"

# A and B with the canary C.
with_canary() { # FIELDS of the alternative
    put b n/s:80 '{"name":"n-s-80","affinity":{"session_cookie_name":"route"},"alternative":{"backend":"n/c:80","canary_by_header":"X-Go",'"$1"'},"endpoints":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$B"']]}'
}
backend n/c:80 "$C"
with_canary '"sticky":true'
cookie=$(set_cookie / -H 'X-Go: always' | value)
check "a cookie for the canary" "$(owner n-c-80)" "${cookie#*|}"
check "who is bound to the canary stays there" "$C:10 " "$(many s.test '/[1-10]' -b "route=$cookie" | ports)"
check "whatever the header says" "$C" "$(get s.test / -b "route=$cookie" -H 'X-Go: never' | port_of)"
cookie=$(set_cookie / -H 'X-Go: never' | value)
check "who is bound to the primary does, too" 0 "$(many s.test '/[1-10]' -b "route=$cookie" -H 'X-Go: always' | grep -c "^port=$C ")"
check "who is bound elsewhere is drawn" "$C" "$(get s.test / -b "route=x|y" -H 'X-Go: always' | port_of)"
with_canary '"canary_weight":0'
check "a canary without affinity sets no cookie" "" "$(set_cookie / -H 'X-Go: always')"
check "and binds no client" 0 "$(many s.test '/[1-10]' -b "route=k|$(owner n-c-80)" | grep -c "^port=$C ")"
