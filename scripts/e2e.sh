#!/usr/bin/env bash
# The end-to-end suite: one bed, all cases in parallel, each with a controller, ports and namespace of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
# With the tests, so that both share one set of features and nothing is built twice.
cargo build --locked --workspace --bins --tests
bin=${CARGO_TARGET_DIR:-target}/debug
NARTHEX_BIN=$(realpath "$bin/narthex")
export NARTHEX_BIN
exec "$bin/bed" run -- cargo nextest run --locked --workspace --profile e2e -E "package(e2e)" "$@"
