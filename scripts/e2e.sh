#!/usr/bin/env bash
# The end-to-end suite: one bed, all cases in parallel, each with a controller, ports and namespace of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --locked --quiet -p narthex -p testkit
bin=${CARGO_TARGET_DIR:-target}/debug
cargo nextest run --locked -p e2e --no-run
NARTHEX_BIN=$(realpath "$bin/narthex")
export NARTHEX_BIN
exec "$bin/bed" run -- cargo nextest run --locked --profile e2e -p e2e "$@"
