#!/usr/bin/env bash
# What the Lua data plane costs: wrk through (a) a plain NGINX proxy with upstream keepalive and (b) the same with
# host lookup, route, balancer, header and log phases in Lua, with HOSTS hosts posted. One worker each, on one core;
# wrk and the backend on the other.
#
# HOSTS (10000), SECONDS_EACH (5), ROUNDS (3), NARTHEX_SPEC_PORT (18500), CORE (0), OTHER (1), NGINX, NGINX_MODULES.
# Prints requests a second and CPU per request of the worker: the latter is what counts on a busy machine.
set -euo pipefail
cd "$(dirname "$0")"

HOSTS=${HOSTS:-10000} SECONDS_EACH=${SECONDS_EACH:-5} ROUNDS=${ROUNDS:-3} PORT=${NARTHEX_SPEC_PORT:-18500}
CORE=${CORE:-0} OTHER=${OTHER:-1} NGINX=${NGINX:-nginx} MODULES=${NGINX_MODULES:-/usr/lib/nginx/modules}
LUA=$(cd ../.. && pwd)
DIR=$(mktemp -d)
chmod 755 "$DIR"
T=$'\t'
TICKS=$(getconf CLK_TCK)

cleanup() {
    local name
    for name in backend plain narthex; do kill "$(cat "$DIR/$name.pid" 2>/dev/null)" 2>/dev/null || true; done
    until ! ls "$DIR"/*.pid >/dev/null 2>&1; do read -rt 0.02 <> <(:) || true; done
    rm -rf "$DIR"
}
trap cleanup EXIT

# launch NAME CORE: of http block on stdin
launch() {
    local name=$1 path
    mkdir -p "$DIR/$name-tmp"
    {
        [ "$name" = narthex ] && echo "load_module $MODULES/ndk_http_module.so; load_module $MODULES/ngx_http_lua_module.so;"
        echo "worker_processes 1; pid $DIR/$name.pid; error_log $DIR/$name.log warn; events { worker_connections 4096; }"
        echo "http { access_log off; keepalive_requests 1000000;"
        for path in client_body proxy fastcgi uwsgi scgi; do echo "${path}_temp_path $DIR/$name-tmp/$path;"; done
        cat
        echo "}"
    } >"$DIR/$name.conf"
    taskset -c "$2" "$NGINX" -p "$DIR" -c "$DIR/$name.conf" -e "$DIR/$name.log"
}

launch backend "$OTHER" <<<"server { listen 127.0.0.1:$PORT; location / { return 200 'hello, world'; } }"
launch plain "$CORE" <<CONF
upstream backend { server 127.0.0.1:$PORT; keepalive 64; }
server { listen 127.0.0.1:$((PORT + 1)); location / {
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host \$http_host; proxy_pass http://backend; } }
CONF
launch narthex "$CORE" <<CONF
lua_package_path "$LUA/?.lua;;";
lua_shared_dict configuration_data 64m; lua_shared_dict certificate_data 10m; lua_shared_dict certificate_servers 5m;
lua_shared_dict balancer_ewma 1m; lua_shared_dict balancer_ewma_last_touched_at 1m; lua_shared_dict balancer_ewma_locks 1m; lua_shared_dict limit_conn 1m; lua_shared_dict limit_req 1m; lua_shared_dict otel_spans 1m; lua_shared_dict request_metrics 8m; lua_shared_dict auth_verdicts 1m;
init_by_lua_block { require("narthex.init").setup('{"revision":"r","profiles":["base"],"hsts":"max-age=31536000"}') }
init_worker_by_lua_block { require("narthex.init").worker() }
header_filter_by_lua_block { require("narthex.header").filter() }
log_by_lua_block { require("narthex.log").log() }
upstream upstream_balancer { server 0.0.0.1; balancer_by_lua_block { require("narthex.balancer").balance() } keepalive 64; }
server { listen unix:$DIR/control.sock; client_max_body_size 33m; client_body_buffer_size 1m;
    location / { content_by_lua_block { require("narthex.control").handle() } } }
server { listen 127.0.0.1:$((PORT + 2)); server_name _;
    set \$namespace ""; set \$ingress_name ""; set \$service_name ""; set \$service_port ""; set \$location_path "";
    set \$proxy_upstream_name ""; set \$proxy_alternative_upstream_name ""; set \$narthex_backend ""; set \$narthex_timeouts "";
    set \$pass_access_scheme \$scheme; set \$best_http_host \$http_host; set \$narthex_vhost \$best_http_host; set \$narthex_log "1";
    location / { rewrite_by_lua_block { require("narthex.route").rewrite() } }
    location @base {
        proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host \$narthex_vhost;
        proxy_pass http://upstream_balancer; } }
CONF

# Records in batches of 200 lines, as the controller sends them.
for ((i = 0; i < HOSTS; i++)); do
    printf '=b%sns%d/web:http%s{"name":"ns%d-web-http","eps":[["127.0.0.1",%d]]}\n' "$T" "$i" "$T" "$i" "$PORT"
    printf '=h%shost%d.example.com%s{"prefix":{"/":0},"routes":[{"ns":"ns%d","ing":"web","svc":"web","port":"http","path":"/","be":"ns%d/web:http"}]}\n' "$T" "$i" "$T" "$i" "$i"
done | split -l 200 - "$DIR/batch."
# shellcheck disable=SC2016
for file in "$DIR"/batch.*; do
    curl -s --unix-socket "$DIR/control.sock" http://x/live --data-binary @"$file" -o /dev/null -w '%{time_total}\n'
done | sort -n | awk '{ all[NR] = $1 * 1000 } END { printf "POST of 200 lines: p50 %.1f ms, max %.1f ms over %d batches\n", all[int((NR + 1) / 2)], all[NR], NR }'

cat >"$DIR/hosts.lua" <<LUA
local n = os.time() * 7919 % $HOSTS
request = function() n = n % $HOSTS + 1; return wrk.format("GET", "/a/b", { Host = "host" .. (n - 1) .. ".example.com" }) end
LUA

worker_of() { pgrep -P "$(cat "$DIR/$1.pid")"; }
cpu() { awk '{ print $14, $15 }' "/proc/$(worker_of "$1")/stat"; }
memory() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$(worker_of "$1")/status"; }

measure() { # NAME PORT
    local before requests after out
    before=$(cpu "$1")
    out=$(taskset -c "$OTHER" wrk -t1 -c32 -d"${SECONDS_EACH}s" -s "$DIR/hosts.lua" "http://127.0.0.1:$2/")
    after=$(cpu "$1")
    requests=$(awk '/requests in/ { print $1 }' <<<"$out")
    grep -q 'Non-2xx' <<<"$out" && { echo "$out" >&2; exit 1; }
    awk -v name="$1" -v n="$requests" -v b="$before" -v a="$after" -v hz="$TICKS" -v s="$SECONDS_EACH" 'BEGIN {
        split(b, from, " "); split(a, to, " ")
        user = (to[1] - from[1]) / hz / n * 1e6
        kernel = (to[2] - from[2]) / hz / n * 1e6
        printf "%-8s %8.0f requests/s  %6.2f us CPU/request, %.2f of them in NGINX and Lua\n", name, n / s, user + kernel, user
    }'
}

# Every host a few times first: what is parsed once, and compiled once, is not what is measured.
asked=0
while ((asked < 4 * HOSTS)); do
    asked=$((asked + $(wrk -t1 -c32 -d1s -s "$DIR/hosts.lua" "http://127.0.0.1:$((PORT + 2))/" | awk '/requests in/ { print $1 }')))
done

for ((round = 0; round < ROUNDS; round++)); do
    measure plain $((PORT + 1))
    measure narthex $((PORT + 2))
done
echo "worker of narthex after $HOSTS hosts were asked: $(memory narthex) MB"
