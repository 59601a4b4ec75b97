# shellcheck shell=bash disable=SC2154
# Regex mode and rewrites, each compared with the same rules as NGINX directives.

backend n/a:80 "$A"
r='"be":"n/a:80"'
put h ref.regex '{"regex":[["/a(/|$)(.*)",0],["/args/(.*)",1],["/drop/(.*)",2],["/dropargs/(.*)",3],["/go/(.*)",4],["/empty(.*)",5],["/named/(?:.+)",6],["/x|/y",7],["/",8]],"policies":[{"namespace":"n","ingress":"a"},{"namespace":"n"}],"locations":[{"path":"/a(/|$)(.*)","service":"a","port":"80","rewrite_target":"/$2"},{"path":"/args/(.*)","service":"a","port":"80","rewrite_target":"/new?v=$1&h=$host","policy":1},{"path":"/drop/(.*)","service":"a","port":"80","rewrite_target":"/new/$1?","policy":1},{"path":"/dropargs/(.*)","service":"a","port":"80","rewrite_target":"/new?v=$1?","policy":1},{"path":"/go/(.*)","service":"a","port":"80","rewrite_target":"https://other.test/$1","policy":1},{"path":"/empty(.*)","service":"a","port":"80","rewrite_target":"$1","policy":1},{"path":"/named/(?<what>[a-z]+)","service":"a","port":"80","rewrite_target":"/is/$what/${host}/$2$10","policy":1},{"path":"/x","service":"a","port":"80","profile":"other","policy":1},{"path":"/","service":"a","port":"80","policy":1}]}'
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

put h dots.test '{"regex":[["/api(.*)",0],["/open/(.*)",1]],"policies":[{"namespace":"n"}],"locations":[{"path":"/api(.*)","service":"a","port":"80","rewrite_target":"/v1/$1"},{"path":"/open/(.*)","service":"a","port":"80","rewrite_target":"$1"}]}'
for target in /api../admin /api..%2fadmin /api%2e%2e/admin /api.. /api./admin /api. /open/../open/../x/..%2F..%2Fopen/..x/../../api../x; do
    check "no dot segment is made of $target" 400 "$(get dots.test "$target" -o /dev/null -w '%{http_code}' --path-as-is)"
done
for target in /api/x /api...x /api.x/y /api/..x/y.. /api/a/../b; do
    check "dots that are none: $target" 200 "$(get dots.test "$target" -o /dev/null -w '%{http_code}' --path-as-is)"
done

put h bad.test '{"regex":[["/(",0],["/[a",0],["/ok",1]],"policies":[{},{"namespace":"n"}],"locations":[{"path":"/("},{"path":"/(ok","service":"a","port":"80","rewrite_target":"/$1","policy":1}]}'
check "invalid regexes are passed over" "port=$A host=bad.test uri=/ok" "$(get bad.test /ok | without_route)"
get bad.test /ok >/dev/null
check "and reported once" "1 1 1" "$(logged 'regex ^/(:' error) $(logged 'regex ^/\[a:' error) $(logged 'rewrite regex /(ok:' error)"
put h slow.test '{"regex":[["/(a+)+$",0],["/",1]],"policies":[{},{"namespace":"n"}],"locations":[{"path":"/"},{"path":"/","service":"a","port":"80","policy":1}]}'
put h long.test '{"regex":[["/(ba|[^/])*z",0],["/",1]],"policies":[{"namespace":"n"}],"locations":[{"path":"/z","service":"b","port":"80"},{"path":"/","service":"a","port":"80"}]}'
check "a long path is no reason to give up" 200 "$(answer long.test "/$(printf 'a%.0s' {1..5000})")"
check "a regex that gives up is a 500, as in NGINX" 500 "$(answer slow.test "/$(printf 'a%.0s' {1..60})!")"
put h plain.test '{"prefix":{"/p/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/p/(.*)/end","service":"a","port":"80","rewrite_target":"/q/$1"}]}'
check "no match, no rewrite, raw target" "port=$A host=plain.test uri=/p/%41?x" "$(get plain.test '/p/%41?x' | without_route)"
check "rewrite in plain mode" "port=$A host=plain.test uri=/q/A?x" "$(get plain.test '/p/%41/end?x' | without_route)"
check "a rewritten request keeps its body" "read" "$(put h up.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/.*","service":"a","port":"80","rewrite_target":"/upload"}]}'; get up.test /x -d body)"
