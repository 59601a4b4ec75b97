# shellcheck shell=bash
# Helpers of run.sh: the scratch NGINX, requests, records, checks.

passed=0 failed=0 current=
T=$'\t'

cleanup() {
    stop
    rm -rf "$PREFIX"
}

prepare() {
    chmod 755 "$PREFIX"
    mkdir -p "$PREFIX/tmp"
    # Only who starts NGINX may read the Lua files: a worker of another user that opens one fails its request.
    mkdir -m 700 "$PREFIX/lua"
    cp -r "$SPEC/../narthex" "$PREFIX/lua/"
    certificate static static.test
    LISTEN6=
    if [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6; then LISTEN6="listen [::1]:$SIX;"; fi
}

# certificate NAME COMMON-NAME: NAME.crt and NAME.key in the scratch directory.
certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$2" \
        -keyout "$PREFIX/$1.key" -out "$PREFIX/$1.crt" 2>/dev/null
}

CONFIG_DEFAULT='{"revision":"REV","profiles":["base"PROFILES],"host_servers":{"own.test":{"names":["own.test","www.own.test"],"profiles":["base","other"]}},"no_tls_redirect_locations":["/.well-known/acme-challenge"],
"strict_records":true,"proxy_body_size":1000,"hsts":"max-age=100","https_port":8443 MORE}'

# configure REVISION [EXTRA-PROFILES [MORE-SETTINGS [WORKERS [STATE-SIZE]]]]
configure() {
    local config=${CONFIG_DEFAULT/REV/$1}
    config=${config/PROFILES/${2:-}}
    config=${config/MORE/${3:-}}
    local text
    text=$(<"$SPEC/nginx.conf")
    local name
    # shellcheck disable=SC2034
    local CONFIG=$config WORKERS=${4:-1} STATE_SIZE=${5:-1m} LUA=$PREFIX/lua REUSEPORT= MORE_DICTS=${MORE_DICTS:-}
    [ "$WORKERS" = 1 ] || REUSEPORT=reuseport
    for name in CONFIG WORKERS STATE_SIZE MORE_DICTS LUA MODULES PREFIX HTTP HTTPS REFERENCE A B C SLOW AUTH LISTEN6 REUSEPORT; do
        text=${text//@$name@/"${!name}"}
    done
    printf '%s\n' "$text" >"$PREFIX/nginx.conf"
}

start() {
    # shellcheck disable=SC2086
    "$NGINX" -p "$PREFIX" -c nginx.conf -e error.log || { echo "NGINX does not start"; exit 2; }
    until_is 200 status_of_control
}

# Says that everything was sent.
complete() { control /generation -d "$(sed -n 's/.*FORMAT = "\(.*\)".*/\1/p' "$SPEC/../narthex/state/wire.lua")" -o /dev/null; }

revision() { control /state | field revision; }

# The workers of a list that still accept connections.
accepting() {
    local pid
    for pid in $1; do tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -v 'shutting down'; done 2>/dev/null
}

# reload REVISION: until the new workers answer and no old one accepts.
reload() {
    local master old
    master=$(<"$PREFIX/nginx.pid")
    old=$(<"/proc/$master/task/$master/children")
    "$NGINX" -p "$PREFIX" -c nginx.conf -e error.log -s reload && until_is "$1" revision && until_is "" accepting "$old"
}

status_of_control() { curl -s -o /dev/null -w '%{http_code}' --unix-socket "$PREFIX/control.sock" http://x/state; }

stop() {
    local pid
    pid=$(cat "$PREFIX/nginx.pid" 2>/dev/null) || return 0
    kill "$pid" 2>/dev/null || return 0
    until ! kill -0 "$pid" 2>/dev/null; do read -rt 0.02 <> <(:); done
    rm -f "$PREFIX/nginx.pid" "$PREFIX/control.sock"
}

# A new NGINX without records.
fresh() {
    stop
    configure "r1" ',"other","proxying","mirror","asks"'
    start
    : >"$PREFIX/access.log"
}

# until_is WANT COMMAND...: polls.
until_is() {
    local want=$1 i got=
    shift
    for ((i = 0; i < 500; i++)); do
        got=$("$@")
        [ "$got" = "$want" ] && return 0
        read -rt 0.01 <> <(:)
    done
    check "waiting for: $*" "$want" "$got"
    return 1
}

check() { # NAME WANT GOT
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "ok   $current: $1"
    else
        failed=$((failed + 1))
        echo "FAIL $current: $1"
        echo "       want: $2"
        echo "       got:  $3"
    fi
}

control() { # PATH [curl options]
    local path=$1
    shift
    curl -s --unix-socket "$PREFIX/control.sock" "http://control$path" "$@"
}

field() { # NAME: of the JSON on stdin (numbers, plain strings)
    sed -E "s/.*\"$1\":\"?([^,\"}]*).*/\\1/"
}

post() { # LINES...
    printf '%s\n' "$@" | control /live --data-binary @- >/dev/null
}

# set TABLE KEY VALUE; unset TABLE KEY
put() { post "=$1$T$2$T$3"; }
drop() { post "-$1$T$2"; }

backend() { # KEY PORT...: round robin over loopback ports
    local key=$1 eps= port
    shift
    for port in "$@"; do eps="$eps${eps:+,}[\"127.0.0.1\",$port]"; done
    put b "$key" "{\"name\":\"${key//[\/:]/-}\",\"endpoints\":[$eps]}"
}

# One location for everything, to the backend n/a:80.
one_route() { # HOST POLICY-FIELDS [LOCATION-FIELDS [NAMESPACE [INGRESS]]]
    put h "$1" '{"prefix":{"/":0},"policies":[{"namespace":"'"${4:-n}"'","ingress":"'"${5:-i}"'"'"${2:+,$2}"'}],"locations":[{"path":"/","service":"a","port":"80"'"${3:+,$3}"'}]}'
}

get() { # HOST PATH [curl options]: the body
    local host=$1 path=$2
    shift 2
    curl -s --max-time 10 --path-as-is -H "Host: $host" "http://127.0.0.1:$HTTP$path" "$@"
}

# The same for a pattern of paths as curl has it (`/[1-100]`), over one connection.
many() { # HOST PATHS [curl options]
    curl -s --max-time 60 -H "Host: $1" "http://127.0.0.1:$HTTP$2" "${@:3}"
}

# Ports with the number of answers from each.
ports() { sed -n 's/^port=\([0-9]*\).*/\1/p' | sort | uniq -c | awk '{print $2 ":" $1}' | tr '\n' ' '; }

# Every request's Set-Cookie, whole.
cookies() { sed -n 's/^[Ss]et-[Cc]ookie: //p' | tr -d '\r'; }

# STATUS[ Location]
answer() { get "$@" -o /dev/null -w '%{http_code} %header{location}' | sed 's/ $//'; }

# STATUS of a request without a Host header
nameless() { # PATH
    exec 3<>"/dev/tcp/127.0.0.1/$HTTP"
    printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
    head -1 <&3 | cut -d' ' -f2
    exec 3>&-
}

reference() { # HOST PATH: the same of plain NGINX
    curl -s --path-as-is -H "Host: $1" "http://127.0.0.1:$REFERENCE$2" "${@:3}"
}

port_of() { sed -n 's/^port=\([0-9]*\).*/\1/p'; }

tls() { # SNI PATH [curl options]
    local host=$1 path=$2
    shift 2
    curl -sk --max-time 10 --path-as-is --resolve "$host:$HTTPS:127.0.0.1" -H "Host: $host" "https://$host:$HTTPS$path" "$@"
}

subject() { # SNI, or - for none: common name of the certificate that is served
    local sni=(-servername "$1")
    [ "$1" = - ] && sni=(-noservername)
    openssl s_client -connect "127.0.0.1:$HTTPS" "${sni[@]}" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null |
        sed 's/.*CN *= *//'
}

logged() { grep -c -- "$1" "$PREFIX/$2.log"; }

final_checks() {
    current=all
    check "no new Lua globals" "" "$(control /spec/globals)"
    check "no worker wrote a global" 0 "$(logged 'writing a global Lua variable' error)"
    check "no Lua error" "" "$(grep -E 'lua entry thread aborted|failed to run|lua coroutine|\[alert\]' "$PREFIX/error.log" | grep -v 'exited on signal 9' | head -3)"
    if command -v luacheck >/dev/null; then
        check "luacheck" "" "$(cd "$SPEC/../.." && luacheck -q --no-color lua/narthex 2>&1 | grep -v '^Total: 0 warnings / 0 errors')"
    fi
}
