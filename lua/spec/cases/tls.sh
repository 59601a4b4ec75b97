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

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=rsa.test -keyout "$PREFIX/rsa.key" -out "$PREFIX/rsa.crt" 2>/dev/null
put c both "{\"cert\":\"$(pem one.crt)\\n\",\"key\":\"$(pem one.key)\\n\",\"other\":[\"$(pem rsa.crt)\\n\",\"$(pem rsa.key)\\n\"]}"
put s both.test both
of_kind() { openssl s_client -connect "127.0.0.1:$HTTPS" -servername both.test "$@" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null | sed 's/.*CN *= *//'; }
check "two kinds of keys: ECDSA" one.test "$(of_kind -sigalgs ECDSA+SHA256)"
check "two kinds of keys: RSA" rsa.test "$(of_kind -sigalgs RSA-PSS+SHA256)"
check "two kinds of keys: RSA, TLS 1.2" rsa.test "$(of_kind -tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256)"

check "parsed pairs have a bound: unused ones go first, oldest first" "b c a d e 100 nil large" "$(control /spec/cache)"

put s bad.test missing
check "a record that is not there yet: the default one" default.test "$(subject bad.test)"
put c missing "$(pair one one)"
check "and when it arrives" one.test "$(subject bad.test)"
put c junk '{"cert":"junk","key":"junk"}'
put c mismatch "$(pair one default)"
put c weak "$(pair weak weak)"
put c nonsense 'nonsense'
for bad in junk mismatch weak nonsense; do
    put s bad.test $bad
    check "unusable ($bad): the default one" "default.test default.test" "$(subject bad.test) $(subject bad.test)"
    check "reported once ($bad)" 1 "$(logged "certificate $bad: " error)"
done
check "no key in the log" 0 "$(logged 'PRIVATE KEY' error)"

backend n/a:80 "$A"
complete
put h known.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "unknown names have the default certificate" default.test "$(subject unknown.test)"
configure r2 '' ',"ssl_reject_handshake":true'
reload r2
alert() { openssl s_client -connect "127.0.0.1:$HTTPS" "$@" </dev/null 2>&1 | grep -o 'alert handshake failure' | head -1; }
for version in -tls1_2 -tls1_3; do
    check "refused: unknown name ($version)" "alert handshake failure" "$(alert -servername unknown.test $version)"
    check "refused: no name ($version)" "alert handshake failure" "$(alert -noservername $version)"
    check "not refused: a host without a certificate of its own ($version)" "" "$(alert -servername KNOWN.test $version)"
done
check "it has the default one" default.test "$(subject known.test)"
configure r3
reload r3
put h tls.test '{"prefix":{"/":0,"/slash/":0,"/deny/":1},"policies":[{"namespace":"n"},{"denied":true}],"locations":[{"path":"/","service":"a","port":"80"},{"path":"/deny","policy":1}]}'
header() { tls tls.test "$1" -o /dev/null -w "%header{$2}" "${@:3}"; }
check "HSTS replaces the backend's" max-age=100 "$(header / strict-transport-security)"
check "HSTS on HTTP/1.1" max-age=100 "$(header / strict-transport-security --http1.1)"
check "HSTS on a stock page" max-age=100 "$(header /deny/ strict-transport-security)"
check "no HSTS on the slash redirect" "301 " "$(tls tls.test /slash -o /dev/null -w '%{http_code} %header{strict-transport-security}')"
check "the slash redirect keeps the scheme" "https://tls.test/slash/" "$(header /slash location)"
check "plain HTTP: the backend's own" from-upstream "$(get tls.test / -o /dev/null -w '%header{strict-transport-security}')"
check "no Server header" "" "$(header / server)$(header /deny/ server)$(get tls.test /slash -o /dev/null -w '%header{server}')$(header / server --http1.1)"

# OCSP responses: OpenSSL does not look into them, clients do.
stapled() { openssl s_client -status -connect "127.0.0.1:$HTTPS" -servername one.test </dev/null 2>/dev/null | grep -o 'OCSP response: no response sent\|OCSP Response Status: [a-z]*' | head -1; }
put s one.test one
check "no response" "OCSP response: no response sent" "$(stapled)"
put o one "4102444800 MAMKAQM="
check "the response of the record" "OCSP Response Status: trylater" "$(stapled)"
put o one "$(($(date +%s) - 1)) MAMKAQM="
check "one that has ended is not sent" "OCSP response: no response sent" "$(stapled)"
put o one "4102444800 MAMKAQE="
check "a renewed one" "OCSP Response Status: malformedrequest" "$(stapled)"
put o one "junk"
check "one that can't be read" "OCSP response: no response sent" "$(stapled)"
