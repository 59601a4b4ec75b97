# shellcheck shell=bash disable=SC2154
# The canary: A is the primary, B its alternative.

canary() { # FIELDS of the alternative
    put b n/main:80 '{"name":"n-main-80","alternative":{"backend":"n/new:80"'"${1:+,$1}"'},"endpoints":[["127.0.0.1",'"$A"']]}'
}
ask() { get can.test / "$@" | port_of; }

put h can.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"main","port":"80"}]}'
backend n/new:80 "$B"
canary '"canary_weight":100'
check "a canary weight of 100 is everybody" "$B:20 " "$(many can.test '/[1-20]' | ports)"
check "the log names both backends" 1 "$(until_is 20 logged '\[n-main-80\] \[n-new-80\]' access && echo 1)"
check "headers name the primary" 1 "$(get can.test / | grep -c 'route=n||main|80|/|n-main-80|n/new:80')"
canary '"canary_weight":1000,"canary_weight_total":1000'
check "a canary weight of its total is everybody" "$B:20 " "$(many can.test '/[1-20]' | ports)"
canary
check "a canary without rules gets no request" "$A:20 " "$(many can.test '/[1-20]' | ports)"

# Twenty of a hundred, 2,000 requests: three points are 3.4 standard deviations, and two samples in a row are never that far off.
share() { many can.test '/[1-2000]' | sed -n "s/^port=$B .*/b/p" | wc -l; }
within() { [ "$1" -ge 340 ] && [ "$1" -le 460 ] && echo 1; }
canary '"canary_weight":20'
sample=$(share)
[ "$(within "$sample")" ] || sample=$(share)
check "a canary weight of 20 is a fifth, give or take three points ($sample)" 1 "$(within "$sample")"
canary '"canary_weight":200,"canary_weight_total":1000'
sample=$(share)
[ "$(within "$sample")" ] || sample=$(share)
check "a canary weight total of 1000 ($sample)" 1 "$(within "$sample")"

canary '"canary_by_header":"X-Go_There","canary_by_cookie":"Go-There"'
check "no header, no cookie" "$A" "$(ask)"
check "header always" "$B" "$(ask -H 'x-go-there: always')"
check "header never beats cookie always" "$A" "$(ask -H 'X-Go-There: never' -b 'Go-There=always')"
check "another word goes on to the cookie" "$B" "$(ask -H 'X-Go-There: perhaps' -b 'go-there=always')"
check "an empty header does, too" "$B" "$(ask -H 'X-Go-There;' -b 'a=b; Go-There=always')"
check "another word of the cookie goes on to the weight" "$A" "$(ask -b 'Go-There=yes')"
canary '"canary_weight":100,"canary_by_cookie":"Go-There"'
check "cookie never beats weight" "$A" "$(ask -b 'Go-There=never')"
check "cookie, any other word" "$B" "$(ask -b 'Go-There=no')"

canary '"canary_by_header":"X-Go","canary_by_header_value":"now","canary_by_cookie":"go"'
check "the header's value" "$B" "$(ask -H 'X-Go: now')"
check "in another letter case" "$A" "$(ask -H 'X-Go: Now')"
check "always means nothing beside a value" "$A" "$(ask -H 'X-Go: always')"
check "nor does never" "$B" "$(ask -H 'X-Go: never' -b 'go=always')"
canary '"canary_by_header":"X-Go","canary_by_header_pattern":"^be[t]a-[0-9]+","canary_by_cookie":"go"'
check "the header's pattern" "$B" "$(ask -H 'X-Go: beta-12 or so')"
check "with regard to letter case" "$A" "$(ask -H 'X-Go: BETA-12')"
check "always means nothing beside a pattern" "$A" "$(ask -H 'X-Go: always')"
check "no match goes on to the cookie" "$B" "$(ask -H 'X-Go: stable' -b 'go=always')"
canary '"canary_by_header":"X-Go","canary_by_header_pattern":"(","canary_by_cookie":"go"'
check "a pattern that can't be used: the primary, whatever the cookie says" "$A" "$(ask -H 'X-Go: x' -b 'go=always')"
canary '"canary_by_header":"X-Go","header_means_primary":true,"canary_by_cookie":"go"'
check "a header that means the primary" "$A" "$(ask -H 'X-Go: always' -b 'go=always')"
check "and nothing without it" "$B" "$(ask -b 'go=always')"

canary '"canary_weight":100'
backend n/new:80
check "a canary without endpoints is passed over" "$A" "$(ask)"
drop b n/new:80
check "so is one that does not exist" "$A" "$(ask)"
backend n/new:80 "$B"
put b n/main:80 '{"name":"n-main-80","alternative":{"backend":"n/new:80","canary_weight":100},"endpoints":[]}'
check "a primary without endpoints is 503, canary or not" 503 "$(answer can.test /)"
canary '"canary_weight":100'
backend n/new:80 "$DEAD"
check "a request stays with its canary" 502 "$(answer can.test /)"
check "for all its tries" 1 "$(logged "502 \[127.0.0.1:$DEAD, 127.0.0.1:$DEAD, 127.0.0.1:$DEAD\]" access)"
canary '"canary_weight":100'
put b n/new:80 '{"name":"n-new-80","alternative":{"backend":"n/third:80","canary_weight":100},"endpoints":[["127.0.0.1",'"$B"']]}'
backend n/third:80 "$C"
check "the canary of a canary is not asked" "$B" "$(ask)"
