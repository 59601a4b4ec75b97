#!/usr/bin/env bash
# `make run-cluster`: a real API server, Deployments as backends, and Narthex. Ctrl-C ends everything.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --quiet --workspace
bin=${CARGO_TARGET_DIR:-target}/debug
export OUTSIDE_UID=$UID
exec "$bin/bed" run -- scripts/run-cluster-inside.sh "$bin"
