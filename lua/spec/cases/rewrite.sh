# shellcheck shell=bash disable=SC2154
# Regex mode and rewrites, each compared with the same rules as NGINX directives.

backend ns/a:80 "$A"
r='"be":"ns/a:80"'
put h ref.regex '{"regex":[["/a(/|$)(.*)",0],["/args/(.*)",1],["/drop/(.*)",2],["/dropargs/(.*)",3],["/go/(.*)",4],["/empty(.*)",5],["/named/(?:.+)",6],["/x|/y",7],["/",8]],"routes":[{"path":"/a",'"$r"',"ns":"a","rw":["/a(/|$)(.*)","/$2"]},{"path":"/args",'"$r"',"rw":["/args/(.*)","/new?v=$1&h=$host"]},{"path":"/drop",'"$r"',"rw":["/drop/(.*)","/new/$1?"]},{"path":"/dropargs",'"$r"',"rw":["/dropargs/(.*)","/new?v=$1?"]},{"path":"/go",'"$r"',"rw":["/go/(.*)","https://other.test/$1"]},{"path":"/empty",'"$r"',"rw":["/empty(.*)","$1"]},{"path":"/named",'"$r"',"rw":["/named/(?<what>[a-z]+)","/is/$what/${host}/$2$10"]},{"path":"/x","prof":"other",'"$r"'},{"path":"/",'"$r"'}]}'
without_route() { sed 's/ route=.*//'; }
while IFS= read -r target; do
    want=$(reference ref.regex "$target" -w '%{http_code} %header{location}' | without_route)
    check "like NGINX: $target" "$want" "$(get ref.regex "$target" -w '%{http_code} %header{location}' | without_route)"
done <<'TARGETS'
/a
/a/
/a/b%20c?x=1
/A/B
/a/%2F
/a/%2f%2e%2e
/a/%01%02%7f
/a/%00x
/a/%C3%BC
/a/%ff%fe
/a/%25%32%35
/a/%3Fx%23y
/a/%22%5C%5E%7B%7C%7D%3C%3E%60
/a/+%2B
/a/%0d%0aX:%20y
/a/?a=%20b&c=/
/a/x;y=z,(1)
/ab/a/c
/args/v?x=1
/args/v%20w
/args/v&w
/args/v%26w?x=1
/args/v+w%3D%3F
/args/%C3%BC%22%3C
/args/
/drop/x?y=z
/drop/x
/dropargs/x?y=z
/dropargs/x%26
/go/x
/go/x?y=z
/go/x%20y%2Fz%25%41
/go/%C3%BC%3F%26?z
/empty
/empty/x
/emptyx
/named/thing/more
/named/9
/x
/xyz
/q/y
/other
/
TARGETS
check "another profile than its neighbours" 1 "$(get ref.regex /xyz | grep -c route=other)"
check "the first alternative alone is anchored" 1 "$(get ref.regex /q/y | grep -c route=other)"
check "an empty result is logged, as by the reference" 2 "$(logged 'the rewritten URI has a zero length' error)"

put h bad.test '{"regex":[["/(",0],["/[a",0],["/ok",1]],"routes":[{"path":"/("},{"path":"/ok",'"$r"',"rw":["/(ok","/$1"]}]}'
check "invalid regexes are passed over" "port=$A host=bad.test uri=/ok" "$(get bad.test /ok | without_route)"
get bad.test /ok >/dev/null
check "and reported once" "1 1 1" "$(logged 'regex ^/(:' error) $(logged 'regex ^/\[a:' error) $(logged 'rewrite regex /(ok:' error)"
put h slow.test '{"regex":[["/(a+)+$",0],["/",1]],"routes":[{"path":"/"},{"path":"/",'"$r"'}]}'
put h long.test '{"regex":[["/(ba|[^/])*z",0],["/",1]],"routes":[{"path":"/z","be":"ns/b:80"},{"path":"/","be":"ns/a:80"}]}'
check "a long path is no reason to give up" 200 "$(answer long.test "/$(printf 'a%.0s' {1..5000})")"
check "a regex that gives up is a 500, as in NGINX" 500 "$(answer slow.test "/$(printf 'a%.0s' {1..60})!")"
put h plain.test '{"prefix":{"/p/":0},"routes":[{"path":"/p",'"$r"',"rw":["/p/(.*)/end","/q/$1"]}]}'
check "no match, no rewrite, raw target" "port=$A host=plain.test uri=/p/%41?x" "$(get plain.test '/p/%41?x' | without_route)"
check "rewrite in plain mode" "port=$A host=plain.test uri=/q/A?x" "$(get plain.test '/p/%41/end?x' | without_route)"
check "a rewritten request keeps its body" "read" "$(put h up.test '{"prefix":{"/":0},"routes":[{"path":"/",'"$r"',"rw":["/.*","/upload"]}]}'; get up.test /x -d body)"
