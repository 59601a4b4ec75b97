# shellcheck shell=bash disable=SC2154
# Certificates by name, and the headers of responses.

pem() { sed ':a;N;$!ba;s/\n/\\n/g' "$PREFIX/$1"; }
pair() { printf '{"cert":"%s\\n","key":"%s\\n"}' "$(pem "$1.crt")" "$(pem "$2.key")"; }
certificate one one.test
certificate wild '*.wild.test'
certificate default default.test
certificate renewed renewed.test
openssl req -x509 -newkey rsa:1024 -nodes -days 2 -subj /CN=weak.test -keyout "$PREFIX/weak.key" -out "$PREFIX/weak.crt" 2>/dev/null

check "no record: the static one" static.test "$(subject one.test)"
put c one "$(pair one one)"
put c wild "$(pair wild wild)"
put c default "$(pair default default)"
put s one.test one
put s '*.wild.test' wild
check "exact name" one.test "$(subject one.test)"
check "upper case" one.test "$(subject ONE.tesT)"
check "wildcard" '*.wild.test' "$(subject a.wild.test)"
check "wildcard covers one label" static.test "$(subject a.b.wild.test)"
check "no entry for _" static.test "$(subject other.test)"
put s _ default
check "unknown name" default.test "$(subject other.test)"
put s b.wild.test -
check "none of its own, nor that of the wildcard above" default.test "$(subject b.wild.test)"
drop s b.wild.test
check "that of the wildcard again" '*.wild.test' "$(subject b.wild.test)"
check "no name" default.test "$(subject -)"
put c renewed "$(pair renewed renewed)"
put s one.test renewed
check "renewed" renewed.test "$(subject one.test)"
drop s one.test
check "removed" default.test "$(subject one.test)"

put s bad.test missing
check "a record that is not there yet: the static one" static.test "$(subject bad.test)"
put c missing "$(pair one one)"
check "and when it arrives" one.test "$(subject bad.test)"
put c junk '{"cert":"junk","key":"junk"}'
put c mismatch "$(pair one default)"
put c weak "$(pair weak weak)"
put c nonsense 'nonsense'
for bad in junk mismatch weak nonsense; do
    put s bad.test $bad
    check "unusable ($bad): the static one" "static.test static.test" "$(subject bad.test) $(subject bad.test)"
    check "reported once ($bad)" 1 "$(logged "certificate $bad: " error)"
done
check "no key in the log" 0 "$(logged 'PRIVATE KEY' error)"

backend n/a:80 "$A"
put h tls.test '{"prefix":{"/":0,"/slash/":0,"/deny/":1},"policies":[{"namespace":"n"},{"denied":true}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/deny","policy":1}]}'
header() { tls tls.test "$1" -o /dev/null -w "%header{$2}" "${@:3}"; }
check "HSTS replaces the backend's" max-age=100 "$(header / strict-transport-security)"
check "HSTS on HTTP/1.1" max-age=100 "$(header / strict-transport-security --http1.1)"
check "HSTS on a stock page" max-age=100 "$(header /deny/ strict-transport-security)"
check "no HSTS on the slash redirect" "301 " "$(tls tls.test /slash -o /dev/null -w '%{http_code} %header{strict-transport-security}')"
check "the slash redirect keeps the scheme" "https://tls.test/slash/" "$(header /slash location)"
check "plain HTTP: the backend's own" from-upstream "$(get tls.test / -o /dev/null -w '%header{strict-transport-security}')"
check "no Server header" "" "$(header / server)$(header /deny/ server)$(get tls.test /slash -o /dev/null -w '%header{server}')$(header / server --http1.1)"
