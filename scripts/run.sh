#!/usr/bin/env bash
# `make run`: echo backends and Narthex on examples/, on high ports. Ctrl-C ends everything.
set -euo pipefail
cd "$(dirname "$0")/.."

http=${HTTP_PORT:-8080} https=${HTTPS_PORT:-8443} health=${HEALTH_PORT:-10254}
say() { printf '%s\n' "$*"; }

bin=${CARGO_TARGET_DIR:-target}/debug
[ -x "$bin/narthex" ] || say "building what runs; the first time takes about three minutes on two cores, the count below is of crates"
cargo build --locked --package narthex --package testkit --bin narthex --bin echo

work=$(mktemp -d)
pids=()
finish() {
  trap - EXIT
  # A second Ctrl-C must not cut the tidying short.
  trap '' INT TERM HUP
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 0' INT TERM HUP

echo_server() { # name, addresses...
  local name=$1 listen=()
  shift
  for address in "$@"; do listen+=(--listen "$address"); done
  # Sessions of their own, so that Ctrl-C reaches this script only, which then ends them in order.
  setsid "$bin/echo" "${listen[@]}" --name "$name" >/dev/null &
  pids+=($!)
}
echo_server hello 127.0.0.11:9101 127.0.0.12:9101
echo_server shop 127.0.0.21:9102
echo_server cart 127.0.0.31:9103
echo_server news 127.0.0.41:9104 127.0.0.42:9104
echo_server news-next 127.0.0.51:9105

setsid "$bin/narthex" run --manifests examples --work-dir "$work" --drain-timeout 2 \
  --http-port "$http" --https-port "$https" --healthz-port "$health" "$@" &
narthex=$!
pids=("$narthex" "${pids[@]}")

for _ in $(seq 100); do
  curl -fs -o /dev/null "http://127.0.0.1:$health/healthz" && break
  kill -0 "$narthex" 2>/dev/null || { wait "$narthex" || exit $?; exit 1; }
  sleep 0.1
done

cat <<END

  Narthex serves examples/ - try:

    curl -H 'Host: hello.example.com' http://127.0.0.1:$http/
    curl -k --resolve shop.example.com:$https:127.0.0.1 https://shop.example.com:$https/cart
    curl -H 'Host: api.shop.example.com' http://127.0.0.1:$http/api/v1/orders
    curl -H 'Host: news.example.com' http://127.0.0.1:$http/

  A live change:   remove an address of the EndpointSlice in examples/hello.yaml, or change the path in its Ingress.
  A reload:        add the annotation  nginx.ingress.kubernetes.io/proxy-buffer-size: 16k  to an Ingress.
  What it counts:  curl -s http://127.0.0.1:$health/metrics | grep -E 'narthex_reloads'
  What serves it:  $bin/narthex conf --work-dir $work shop.example.com

  Ctrl-C ends it.

END
wait "$narthex"
