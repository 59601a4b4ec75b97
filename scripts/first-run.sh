#!/usr/bin/env bash
# Measures a newcomer's first minutes: a clone with nothing built and nothing downloaded, `make run` until examples/ are served, and the
# second `make run`. Prints rows of Markdown, with the sizes of the binary of `make release` and of the image of `make image` where they are.
# NGINX, Rust and what Debian's packages bring are there before. `make bench` puts the rows into docs/benchmarks.md.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
running=
finish() {
  [ -z "$running" ] || kill -TERM -- "-$running" 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT

say() { printf 'first run: %s\n' "$*" >&2; }

# Seconds until a host of examples/ is served by `make run` in the clone.
served() {
  local began=$EPOCHREALTIME
  setsid make --no-print-directory -C "$scratch/clone" run >>"$scratch/log" 2>&1 &
  running=$!
  until curl -fs -o /dev/null -m 1 -H 'Host: hello.example.com' "http://127.0.0.1:$HTTP_PORT/"; do
    kill -0 "$running" 2>/dev/null || { cat "$scratch/log" >&2; say "make run has failed"; exit 1; }
    sleep 0.05
  done
  seconds=$(awk -v from="$began" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.1f", to - from }')
  kill -TERM -- "-$running"
  wait "$running" || true
  running=
}

row() { # what, figure, unit, target
  printf '| %s | %s %s | ≤ %s %s | %s |\n' "$1" "$2" "$3" "$4" "$3" "$(awk -v is="$2" -v most="$4" 'BEGIN { print is + 0 <= most + 0 ? "yes" : "NO" }')"
}

export HTTP_PORT=18080 HTTPS_PORT=18443 HEALTH_PORT=18254 CARGO_HOME=$scratch/cargo
unset CARGO_TARGET_DIR
mkdir "$CARGO_HOME"
# Mirrors of the registry that the machine uses.
cp "${HOME:-/root}"/.cargo/config.toml "$CARGO_HOME/" 2>/dev/null || true
scripts/setup.sh nginx >&2
git clone -q . "$scratch/clone"
say "make run in a fresh clone, some minutes"
served
row 'git clone, `make run`, first answer; no crate downloaded or built before' "$seconds" s 240
say "the second make run"
served
row 'the second `make run`, first answer' "$seconds" s 5
binary=target/narthex-$(uname -m)
[ ! -f "$binary" ] || row 'binary of `make release`, stripped' "$(($(stat -c %s "$binary") / 1000000))" MB 40
[ ! -f target/image/narthex.tar ] || row 'image of `make image`' "$(($(stat -c %s target/image/narthex.tar) / 1000000))" MB 120
