# shellcheck shell=bash
# The access log in blocks, as the rendered configuration has it: no line is lost when workers end, none is torn on a pipe.

LOG=$PREFIX/log
mkdir -p "$LOG/tmp"
mkfifo "$LOG/pipe"
BLOCKS=$(sed -n 's/^const BLOCKS: &str = "\(.*\)";$/\1/p' "$SPEC/../../crates/core/render/src/globals/log.rs")
check "blocks fit into what a pipe takes at once, and wait for at most 100 ms" " buffer=4k flush=100ms" "$BLOCKS"

cat >"$LOG/nginx.conf" <<END
worker_processes 2;
pid nginx.pid;
error_log error.log notice;
events { worker_connections 256; }
http {
    client_body_temp_path tmp/b; proxy_temp_path tmp/p; fastcgi_temp_path tmp/f; uwsgi_temp_path tmp/u; scgi_temp_path tmp/s;
    log_format line 'begin \$arg_id \$http_user_agent end';
    access_log $LOG/pipe line$BLOCKS;
    server { listen 127.0.0.1:$HTTP reuseport; return 200; }
}
END

log_master() { "$NGINX" -p "$LOG" -c nginx.conf -e error.log "$@"; }
log_pid() { cat "$LOG/nginx.pid" 2>/dev/null; }

# Requests of four clients; each answered one leaves its id. Lines are of very different lengths.
log_clients() { # ROUND COUNT
    local client pids=()
    for client in 1 2 3 4; do
        curl -s -A "$(printf "%$((client * client * 180))s" | tr ' ' x)" -w '%{url_effective}\n' \
            "http://127.0.0.1:$HTTP/?id=$1-$client-[0-$2]" >>"$LOG/answered.$client" &
        pids+=($!)
    done
    wait "${pids[@]}"
}

# log_round SIGNAL: requests, then an end of the workers at once.
log_round() {
    rm -f "$LOG"/answered.*
    exec 9<>"$LOG/pipe"
    cat "$LOG/pipe" >"$LOG/out" 9>&- &
    local reader=$!
    log_master 9>&-
    if [ "$1" = HUP ]; then
        log_clients "$1" 400 &
        local clients=$! i
        for i in 1 2 3; do
            read -rt 0.2 <> <(:)
            kill -HUP "$(log_pid)"
        done
        wait "$clients"
        kill -QUIT "$(log_pid)"
    else
        log_clients "$1" 400
        kill "-$1" "$(log_pid)"
    fi
    until [ ! -e "$LOG/nginx.pid" ]; do read -rt 0.02 <> <(:); done
    # The reader ends when the last writer has closed the pipe.
    exec 9>&-
    wait "$reader"
    # An id that differs is shown, not the thousands that don't.
    check "$1: every answered request has its line, once" "" \
        "$(diff <(sed 's/.*id=//' "$LOG"/answered.* | sort) <(awk '{print $2}' "$LOG/out" | sort) | head -5)"
    check "$1: requests" 1604 "$(wc -l <"$LOG/out")"
    check "$1: no line is torn" 0 "$(grep -cvE '^begin [A-Z]+-[1-4]-[0-9]+ x+ end$' "$LOG/out")"
}

stop
log_round QUIT
log_round TERM
log_round HUP
