#!/usr/bin/env bash
# `make run-cluster`: a real API server, Deployments as backends, and Narthex. Ctrl-C ends everything.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --workspace --bins
bin=${CARGO_TARGET_DIR:-target}/debug
# The bed takes this process' place: its namespaces are entered by this number.
export OUTSIDE_UID=$UID OUTSIDE_PID=$$
exec "$bin/bed" run -- scripts/run-cluster-inside.sh "$bin"
