# shellcheck shell=bash disable=SC2154
# Consistent hashing: the whole backend, and subsets.

hashed() { # RULE PORT...
    local rule=$1 eps= port
    shift
    for port in "$@"; do eps="$eps${eps:+,}[\"127.0.0.1\",$port]"; done
    put b n/h:80 '{"name":"n-h-80","hash":{'"$rule"'},"endpoints":['"$eps"']}'
}
keys() { many h.test "/?k=[1-${1:-300}]" | sed -n 's/^port=\([0-9]*\).* uri=\([^ ]*\) .*/\2 \1/p'; }
moved() { join <(sort <<<"$1") <(sort <<<"$2") | awk '$2 != $3 { n++ } END { print n + 0 }'; }
# Owners by the rule itself: CRC-32 by hand, 160 points each, the first point not below the key's.
expected() { # KEY PORT...
    perl -e '
        my ($key, @ports) = @ARGV;
        my @table = map { my $c = $_; $c = $c & 1 ? 0xEDB88320 ^ ($c >> 1) : $c >> 1 for 1 .. 8; $c } 0 .. 255;
        sub crc { my $c = 0xFFFFFFFF; $c = $table[($c ^ $_) & 255] ^ ($c >> 8) for unpack("C*", $_[0]); $c ^ 0xFFFFFFFF }
        my %points;
        for my $port (@ports) { my $last = 0; $points{$last = crc("127.0.0.1:$port" . pack("V", $last))} = $port for 1 .. 160 }
        my @sorted = sort { $a <=> $b } keys %points;
        my ($point) = grep { $_ >= crc($key) } @sorted;
        print $points{$point // $sorted[0]}, "\n";' "$@"
}

put h h.test '{"prefix":{"/":0},"policies":[{"namespace":"n"}],"locations":[{"path":"/","service":"h","port":"80"}]}'
hashed '"upstream_hash_by":"$request_uri"' "$A" "$B" "$C"
check "one key, one endpoint" 1 "$(for _ in {1..10}; do get h.test /same | port_of; done | sort -u | wc -l)"
for path in /a /b /c /d; do
    check "the owner of $path by the rule" "$(expected "$path" "$A" "$B" "$C")" "$(get h.test "$path" | port_of)"
done
hashed '"upstream_hash_by":"id-${arg_k}$no_such_thing"' "$A" "$B" "$C"
check "text and variables; what does not exist is empty" "$(expected id-7 "$A" "$B" "$C")" "$(get h.test '/?k=7' | port_of)"

hashed '"upstream_hash_by":"$arg_k"' "$A" "$B" "$C"
before=$(keys)
check "every endpoint has keys" 3 "$(cut -d' ' -f2 <<<"$before" | sort -u | wc -l)"
hashed '"upstream_hash_by":"$arg_k"' "$A" "$B" "$C" "$SLOW"
more=$(keys 200)
before_200=$(head -200 <<<"$before")
check "a fourth endpoint takes at most 1.5 quarters of the keys" 1 "$([ "$(moved "$before_200" "$more")" -le 75 ] && echo 1)"
check "and takes some" 1 "$([ "$(moved "$before_200" "$more")" -ge 10 ] && echo 1)"
check "keys move to the new endpoint only" 0 "$(join <(sort <<<"$before_200") <(sort <<<"$more") | awk -v new="$SLOW" '$2 != $3 && $3 != new' | wc -l)"
hashed '"upstream_hash_by":"$arg_k"' "$A" "$B" "$C"
check "they come back when it leaves" "$before" "$(keys)"
hashed '"upstream_hash_by":"$arg_k"' "$A" "$B"
less=$(keys)
check "only the keys of an endpoint that leaves move" 0 "$(join <(sort <<<"$before") <(sort <<<"$less") | awk -v gone="$C" '$2 != $3 && $2 != gone' | wc -l)"
hashed '"upstream_hash_by":"$arg_j"' "$A" "$B"
check "another rule holds at once" 1 "$(keys 30 | cut -d' ' -f2 | sort -u | wc -l)"

hashed '"upstream_hash_by":"$arg_k"' "$A" "$DEAD" "$DEAD2"
check "a retry goes on to what was not tried" 60 "$(keys 60 | awk -v a="$A" '$2 == a' | wc -l)"
hashed '"upstream_hash_by":"$arg_k"' "$DEAD"
check "with one dead endpoint: 502" 502 "$(answer h.test '/?k=1')"
hashed '"upstream_hash_by":"$arg_k"' "$DEAD" "$DEAD2"
check "with two" 502 "$(answer h.test '/?k=1')"

put h re.test '{"regex":[["/user/([a-z]+)/(.*)",0]],"policies":[{"namespace":"n"}],"locations":[{"path":"/user/([a-z]+)/(.*)","service":"r","port":"80","rewrite_target":"/$2"}]}'
put b n/r:80 '{"name":"r","hash":{"upstream_hash_by":"$1"},"endpoints":[["127.0.0.1",'"$A"'],["127.0.0.1",'"$B"'],["127.0.0.1",'"$C"']]}'
for user in ann bob cid dan; do
    check "a capture of the path: $user" "$(expected "$user" "$A" "$B" "$C")" "$(get re.test "/user/$user/list" | port_of)"
done

hashed '"upstream_hash_by":"$arg_k","upstream_hash_by_subset_size":2' "$A" "$B" "$C"
owners() { for _ in {1..24}; do get h.test "/?k=$1" | port_of; done | sort -u | tr '\n' ' '; }
check "a subset has its size, one of the two" 1 "$(owners 1 | grep -cx "$A $B \|$A $C ")"
check "keys know different subsets" 2 "$(for k in {1..12}; do owners "$k"; echo; done | sort -u | wc -l)"
hashed '"upstream_hash_by":"$arg_k","upstream_hash_by_subset_size":3' "$A" "$B"
check "a subset larger than the backend is the backend" "$A $B " "$(owners 1)"
hashed '"upstream_hash_by":"$arg_k","upstream_hash_by_subset_size":1' "$A" "$DEAD" "$DEAD2"
check "a retry leaves a subset without anything untried" 40 "$(keys 40 | awk -v a="$A" '$2 == a' | wc -l)"
hashed '"upstream_hash_by":"$arg_k","upstream_hash_by_subset_size":2' "$DEAD" "$DEAD2"
check "a subset without anything alive" 502 "$(answer h.test '/?k=1')"
hashed '"upstream_hash_by":"$arg_k"' "$A"
check "from a subset to the whole" "$A" "$(get h.test '/?k=1' | port_of)"
