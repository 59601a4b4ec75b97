# shellcheck shell=bash disable=SC2154
# Lists of addresses, passwords, other services, and how they combine.

backend n/a:80 "$A"
complete

route() { one_route "$@"; }
code() { answer "$@" | cut -d' ' -f1; }
challenge() { get "$@" -o /dev/null -w '%header{www-authenticate}'; }

route deny.test '"addresses":{"denylist_source_range":["127.0.0.0/8"]}'
route allow.test '"addresses":{"allowlist_source_range":["10.0.0.0/8","127.0.0.1"]}'
route others.test '"addresses":{"allowlist_source_range":["10.0.0.0/8","127.0.0.2","::1"]}'
route both.test '"addresses":{"denylist_source_range":["127.0.0.0/9"],"allowlist_source_range":["127.0.0.1"]}'
route bits.test '"addresses":{"allowlist_source_range":["127.0.0.0/30"]}'
route near.test '"addresses":{"allowlist_source_range":["127.0.0.4/30","126.0.0.0/8"]}'
route all.test '"addresses":{"allowlist_source_range":["0.0.0.0/0"]}'
route broken.test '"addresses":{"allowlist_source_range":["127.0.0.1","300.0.0.1"]}'
check "a client in a deny list" 403 "$(code deny.test /)"
check "one in an allow list" 200 "$(code allow.test /)"
check "one in no allow list" 403 "$(code others.test /)"
check "the deny list comes first" 403 "$(code both.test /)"
check "a network that ends within a byte" "200 403" "$(code bits.test /) $(code near.test /)"
check "everybody" 200 "$(code all.test /)"
check "a list that can't be read lets no client through" 403 "$(code broken.test /)"
check "and says so" 1 "$(logged 'not a network: 300.0.0.1' error)"
put h tls.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","force_ssl_redirect":true,"addresses":{"denylist_source_range":["127.0.0.1"]}}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "the redirect to HTTPS comes first" 308 "$(code tls.test /)"
put h empty.test '{"prefix":{"/":0},"policies":[{"namespace":"n","addresses":{"denylist_source_range":["127.0.0.1"]}}],"locations":[{"path":"/","service":"none","port":"80"}]}'
check "503 without an endpoint comes first" 503 "$(code empty.test /)"
put h nothing.test '{"prefix":{"/":0},"policies":[{"namespace":"n","addresses":{"denylist_source_range":["127.0.0.1"]}}],"locations":[{"path":"/"}]}'
check "what nothing is behind is refused before it is missing" 403 "$(code nothing.test /)"

# Passwords: the hash of "bar" in each scheme.
put u users '{"users":{"bcrypt":"'"$(perl -e 'print crypt("bar", "\$2y\$05\$abcdefghijklmnopqrstuu")')"'","apr1":"'"$(openssl passwd -apr1 -salt 12345678 bar)"'","long":"'"$(openssl passwd -apr1 -salt abc 'a password of more than sixteen bytes')"'","md5":"'"$(openssl passwd -1 -salt abc bar)"'","sha256":"'"$(openssl passwd -5 -salt abc bar)"'","sha512":"'"$(openssl passwd -6 -salt abc bar)"'","sha":"{SHA}Ys23Ag/5IOWqZCw9QGaVDdHwH00=","ssha":"{SSHA}'"$({ printf 'barsalt' | openssl dgst -sha1 -binary; printf salt; } | base64)"'","plain":"{PLAIN}b:ar","none":"","star":"*","odd":"$9$x"}}'
route pw.test '"password":{"users":"users","auth_realm":"test auth"}'
check "without credentials" '401 Basic realm="test auth"' "$(code pw.test /) $(challenge pw.test /)"
check "the page" 1 "$(get pw.test / | grep -c '401 Authorization Required' | head -1 | sed 's/^[2-9]/1/')"
for user in bcrypt apr1 md5 sha256 sha512 sha ssha; do
    check "$user" "200 401 200" "$(code pw.test / -u $user:bar) $(code pw.test / -u $user:baz) $(code pw.test / -u $user:bar)"
done
check "a long password" "200 401" "$(code pw.test / -u 'long:a password of more than sixteen bytes') $(code pw.test / -u 'long:a password of more than sixteen byte')"
check "a password with a colon" "200 401" "$(code pw.test / -u plain:b:ar) $(code pw.test / -u plain:b)"
check "hashes that are none let no client in" "401 401 401 401" "$(code pw.test / -u none:) $(code pw.test / -u 'star:*') $(code pw.test / -u odd:x) $(code pw.test / -u nobody:bar)"
check "a header that is none" "401 401 401" "$(code pw.test / -H 'Authorization: Basic') $(code pw.test / -H 'Authorization: Basic !!!') $(code pw.test / -H 'Authorization: Bearer x')"
check "the backend does not see the password" "auth= user= other=" "$(get pw.test /who -u bcrypt:bar)"
route lost.test '"password":{"users":"absent"}'
check "without the list no client gets in" 401 "$(code lost.test / -u bcrypt:bar)"
check "passwords are not shown" 403 "$(control '/record?t=u&k=users' -o /dev/null -w '%{http_code}')"
put u users '{"users":{"bcrypt":"{PLAIN}new"}}'
check "a changed password holds at once" "401 200" "$(code pw.test / -u bcrypt:bar) $(code pw.test / -u bcrypt:new)"

# What a namespace's passwords cost. bcrypt of "bar" with the cost 12: a second has room for a few.
slow=$(perl -e 'print crypt("bar", "\$2y\$12\$abcdefghijklmnopqrstuu")')
for namespace in evil victim; do backend $namespace/a:80 "$A"; done
put u slow '{"users":{"foo":"'"$slow"'"}}'
put h slow.test '{"prefix":{"/":0},"policies":[{"namespace":"evil","ingress":"i","password":{"users":"slow"}}],"locations":[{"path":"/","service":"a","port":"80"}]}'
put h victim.test '{"prefix":{"/":0},"policies":[{"namespace":"victim","ingress":"i","password":{"users":"slow"}}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "a slow password is checked once" "1000 200" "$(many slow.test '/[1-1000]' -u foo:bar -o /dev/null -w '%{http_code}\n' | sort | uniq -c | sed 's/^ *//')"
guesses() { for i in {1..40}; do printf 'header = "Authorization: Basic %s"\nurl = "http://127.0.0.1:%s/"\nnext\n' "$(printf 'foo:%s' "$i" | base64)" "$HTTP"; done; }
guess() { guesses | sed '$d' | sed 's/^header/header = "Host: slow.test"\noutput = "\/dev\/null"\nwrite-out = "%{http_code}\\n"\nheader/' | curl -s -K - | sort | uniq -c; }
tried=$(guess)
check "guesses have a bounded share of the worker" "1" "$(echo "$tried" | awk '$2 == 503 && $1 > 20 {busy = 1} $2 == 200 {open = 1} END {print busy && !open}')"
check "a client that was let in before stays in" 200 "$(code slow.test / -u foo:bar)"
check "the passwords of other namespaces are checked" "200 401" "$(code victim.test / -u foo:bar) $(code victim.test / -u foo:baz)"
check "a password of more than 512 bytes is none" 401 "$(code pw.test / -u "sha512:$(printf 'x%.0s' {1..600})")"

hash=$(printf 'foo:here:bar' | md5sum | cut -d' ' -f1)
put u digest "{\"users\":{\"foo:here\":\"$hash\"}}"
route digest.test '"password":{"users":"digest","auth_realm":"here","digest":true}'
check "digest: the challenge" 1 "$(challenge digest.test / | grep -c '^Digest algorithm=MD5, qop="auth", realm="here", nonce="[0-9a-f.]*"$')"
check "digest: right and wrong" "200 401 401" "$(code digest.test '/a?b' --digest -u foo:bar) $(code digest.test / --digest -u foo:baz) $(code digest.test / --digest -u bar:bar)"
check "digest: basic credentials are none" 401 "$(code digest.test / -u foo:bar)"
old='username="foo", realm="here", uri="/", qop=auth, nc=00000001, cnonce="x"'
nonce=1.0000000000000000000000000000000000000000
second=$(printf 'GET:/' | md5sum | cut -d' ' -f1)
proof=$(printf '%s:%s:00000001:x:auth:%s' "$hash" "$nonce" "$second" | md5sum | cut -d' ' -f1)
check "digest: a nonce of another client" 401 "$(code digest.test / -H "Authorization: Digest $old, nonce=\"$nonce\", response=\"$proof\"")"
nonce=$(challenge digest.test / | sed 's/.*nonce="\([^"]*\)".*/\1/')
# answered NC [QOP [NONCE]]: the status with an answer to the challenge
answered() {
    local of=${3:-$nonce} qop=${2-auth} proof
    proof=$(printf '%s:%s:%s:x:%s:%s' "$hash" "$of" "$1" "$qop" "$second" | md5sum | cut -d' ' -f1)
    code digest.test / -H "Authorization: Digest username=\"foo\", realm=\"here\", uri=\"/\", ${qop:+qop=$qop, }nc=$1, cnonce=\"x\", nonce=\"$of\", response=\"$proof\""
}
check "digest: each count of a nonce once, in any order" "200 200 200 401 401" \
    "$(answered 00000002) $(answered 00000001) $(answered 0000000a) $(answered 00000002) $(answered 0000000A)"
stale() {
    local proof
    proof=$(printf '%s:%s:00000001:x:auth:%s' "$hash" "$nonce" "$second" | md5sum | cut -d' ' -f1)
    challenge digest.test / -H "Authorization: Digest $old, nonce=\"$nonce\", response=\"$proof\""
}
check "digest: a client whose count was used must take a new nonce" 1 "$(stale | grep -c 'stale=true$')"
check "digest: a count is eight digits, and qop is not left out" "401 401 401" "$(answered 1) $(answered 000000001) $(answered 00000009 '')"
check "digest: two clients of one second have nonces of their own" 2 "$({ challenge digest.test /; echo; challenge digest.test /; echo; } | sort -u | wc -l)"

AUTH_URL="http://127.0.0.1:$AUTH"
# asks HOST PATH [MORE [POLICY-FIELDS]]
asks() { route "$1" "\"external_auth\":{\"auth_url\":\"$AUTH_URL$2\",\"host\":\"127.0.0.1\"${3:+,$3}}${4:+,$4}" '"profile":"asks"'; }
asks ext.test /check '"auth_response_headers":["x-user","x-other"]'
check "the service consents" "200 401" "$(code ext.test / -u foo:secret) $(code ext.test / -u foo:bar)"
check "its challenge" 'Basic realm="service"' "$(challenge ext.test /)"
check "its headers replace those of the client" "auth=Basic Zm9vOnNlY3JldA== user=foo other=" "$(get ext.test /who -u foo:secret -H 'X-User: me' -H 'X-Other: me')"
check "its cookies go to the client, beside others" "own=1|a=1; Path=/|b=2|" "$(get ext.test /cookie -u foo:secret -D - -o /dev/null | tr -d '\r' | sed -n 's/^Set-Cookie: //p' | tr '\n' '|')"
check "not with every status" "418 0" "$(code ext.test /teapot -u foo:secret) $(get ext.test /teapot -u foo:secret -D - -o /dev/null | grep -c Set-Cookie)"
asks always.test /check '"auth_always_set_cookie":true'
check "unless that is wanted" 2 "$(get always.test /teapot -u foo:secret -D - -o /dev/null | grep -c Set-Cookie)"
for status in 403 500 302; do asks "s$status.test" "/$status"; done
check "403 goes on, anything else is 500" "403 500 500" "$(code s403.test /) $(code s500.test /) $(code s302.test /)"
asks gone.test / '"auth_response_headers":["x-user"]'
put h gone.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","external_auth":{"auth_url":"http://127.0.0.1:'"$DEAD"'/","host":"x"}}],"locations":[{"path":"/","service":"a","port":"80","profile":"asks"}]}'
check "a service that is not there" 500 "$(code gone.test /)"
asks method.test /method '"auth_method":"POST"'
check "its method, and the headers that come with it" 200 "$(code method.test '/p?q=1')"
asks redirect.test /redirect
check "X-Auth-Request-Redirect" 200 "$(code redirect.test '/p?q=1')"
asks fixed.test /redirect '"auth_request_redirect":"/p?q=1"'
check "another one" 200 "$(code fixed.test /)"
put h prefixed.test '{"regex":[["/p(/|$)(.*)",0]],"policies":[{"namespace":"n","external_auth":{"auth_url":"'"$AUTH_URL"'/prefix","host":"127.0.0.1"}}],"locations":[{"path":"/p(/|$)(.*)","service":"a","port":"80","profile":"asks","rewrite_target":"/$2","x_forwarded_prefix":"/cut"}]}'
check "the prefix that a rewrite cut off is for the backend alone" "prefix=/cut uri=/own" "$(get prefixed.test /p/own -H 'X-Forwarded-Prefix: theirs')"
check "a request with a body" "200 401" "$(code ext.test / -u foo:secret -d body) $(code ext.test / -d body)"
check "over HTTP/2" "200 401" "$(tls ext.test / -u foo:secret --http2 -o /dev/null -w '%{http_code}') $(tls ext.test / --http2 -o /dev/null -w '%{http_code}')"
route variable.test '"external_auth":{"auth_url":"http://127.0.0.1:'"$AUTH"'$http_x_path","host":"127.0.0.1"}' '"profile":"asks"'
check "variables in the URL" "200 403" "$(code variable.test / -H 'X-Path: /uncached') $(code variable.test / -H 'X-Path: /403')"
check "which can't end the request line" 500 "$(code variable.test / -H 'X-Path: /uncached HTTP/1.0')"
route socket.test '"external_auth":{"auth_url":"http://$http_x_host/keys","host":"x"}' '"profile":"asks"'
check "which can't lead to the control socket" "500 500" "$(code socket.test / -H "X-Host: unix:$PREFIX/control.sock:") $(code socket.test / -H "X-Host: UNIX:$PREFIX/control.sock:")"
check "and do not get there" 2 "$(logged 'auth-url leads to a unix socket' error)"

asks signin.test /check '"auth_signin":"http://$host/start","auth_signin_redirect_param":"rd"'
check "sign-in" "302 http://signin.test/start?rd=http://signin.test%2F%3Fa%3Db%26c%3Dd" "$(answer signin.test '/?a=b&c=d')"
check "without the challenge" "" "$(challenge signin.test /)"
asks other.test /check '"auth_signin":"http://$host/start?x=y","auth_signin_redirect_param":"orig"'
check "another parameter behind others" "302 http://other.test/start?x=y&orig=http://other.test%2F" "$(answer other.test /)"
asks escaped.test /check '"auth_signin":"http://$host/start?to=$escaped_request_uri"'
check "where the client came from, escaped" "302 http://escaped.test/start?to=%2F%3Fa%3Db" "$(answer escaped.test '/?a=b')"
asks bare.test /check '"auth_signin":"/start?rd=here"'
check "a URL that has it already" "302 /start?rd=here" "$(answer bare.test /)"
asks pwsign.test /403 '"auth_signin":"http://$host/start"' '"password":{"users":"users"}'
check "it also catches the 401 of a password" "302 http://pwsign.test/start" "$(answer pwsign.test /)"

put h default.test '{"prefix":{"/":0},"policies":[{"namespace":"n","external_auth":{"auth_url":"'"$AUTH_URL"'/check","host":"x"}}],"locations":[{"path":"/","profile":"asks"}]}'
check "what nothing is behind: the service is asked first" "401 404" "$(code default.test /) $(code default.test / -u foo:secret)"

asked() { grep -c -- "$1 " "$PREFIX/auth.log"; }
asks cached.test /cached '"auth_response_headers":["x-user"],"cache":{"auth_cache_key":"$http_x_key","auth_cache_duration":[[60,200,401]]}'
: >"$PREFIX/auth.log"
check "cached: the first answer holds" "200 200" "$(code cached.test / -H 'X-Key: 1' -H 'X-Allow: 1') $(code cached.test / -H 'X-Key: 1')"
check "with its headers" "auth= user=cached other=" "$(get cached.test /who -H 'X-Key: 1')"
check "for this key" "401 401" "$(code cached.test / -H 'X-Key: 2') $(code cached.test / -H 'X-Key: 2' -H 'X-Allow: 1')"
check "the service was asked twice" 2 "$(asked /cached)"
asks uncached.test /uncached '"cache":{"auth_cache_key":"x","auth_cache_duration":[[60]]}'
check "an answer may forbid it" "200 200 2" "$(code uncached.test /) $(code uncached.test /) $(asked /uncached)"

put u users '{"users":{"foo":"{PLAIN}secret","bar":"{PLAIN}secret"}}'
PW='"password":{"users":"users"}' IN='"addresses":{"allowlist_source_range":["127.0.0.1"]}' OUT='"addresses":{"allowlist_source_range":["10.0.0.1"]}' DENIED='"addresses":{"denylist_source_range":["10.0.0.1"]}'
route all1.test "$PW,$IN"
route all2.test "$PW,$OUT"
check "all: both must agree" "401 200 403" "$(code all1.test /) $(code all1.test / -u foo:secret) $(code all2.test / -u foo:secret)"
route any1.test "$PW,$IN,\"satisfy_any\":true"
route any2.test "$PW,$OUT,\"satisfy_any\":true"
route any3.test "$PW,$DENIED,\"satisfy_any\":true"
route any4.test "$OUT,\"satisfy_any\":true"
check "any: one is enough" "200 200 401" "$(code any1.test /) $(code any2.test / -u foo:secret) $(code any2.test /)"
check "any: not to be denied is no consent" "401 200" "$(code any3.test /) $(code any3.test / -u foo:secret)"
check "any: alone" 403 "$(code any4.test /)"
asks any5.test /check "" "$IN,\"satisfy_any\":true"
asks any6.test /check "" "$PW,$OUT,\"satisfy_any\":true"
asks any7.test /403 "" "$PW,$OUT,\"satisfy_any\":true"
asks any8.test /403 "" "$OUT,\"satisfy_any\":true"
check "any: an address spares the question" 200 "$(code any5.test /)"
asks any9.test /check '"auth_response_headers":["x-user","x-other"]' "$IN,\"satisfy_any\":true"
check "any: who passes by its address keeps no copy of the service's headers" "auth= user= other=" "$(get any9.test /who -H 'X-User: admin' -H 'X-User: me' -H 'x-other: me')"
asks any10.test /check '"auth_response_headers":["x-user","x-other"]' "$PW,\"satisfy_any\":true"
check "any: nor who passes by a password" "auth= user= other=" "$(get any10.test /who -u bar:secret -H 'X-User: admin' -H 'X-Other: me')"
check "any: password or service" "200 200 401" "$(code any6.test / -u bar:secret) $(code any6.test / -u foo:secret) $(code any6.test /)"
check "any: if one said 401, it is 401" "401 403" "$(code any7.test /) $(code any8.test /)"
check "with the password's challenge" 'Basic realm=""' "$(challenge any7.test /)"
asks all3.test /check "" "$PW"
check "all: the service sees the password, the backend does not" "auth= user= other=" "$(get all3.test /who -u foo:secret)"

put h cn.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","verified":"1","auth_tls_match_cn":"CN=a"}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "where no certificate was asked for" 503 "$(code cn.test /)"
check "a certificate's subject" "403 client certificate unauthorized" "$(code cn.test / -H 'X-Clients: 1') $(get cn.test / -H 'X-Clients: 1')"
put h forbid.test '{"prefix":{"/":0},"policies":[{"namespace":"n","ingress":"i","forbidden":true,"denied":true}],"locations":[{"path":"/","service":"a","port":"80"}]}'
check "a closed host" 403 "$(code forbid.test /)"

configure r2 ',"asks"' ',"denylist_source_range":["127.0.0.1"]'
reload r2
route global.test ''
route own.test '"addresses":{}'
check "the global list, and one that opens" "403 200" "$(code global.test /) $(code own.test /)"
check "no Ingress, no list" 404 "$(code nowhere.test /)"
