#!/usr/bin/env bash
# The end-to-end suite: one bed, all cases in parallel, each with a controller, ports and namespace of its own.
# Usage: e2e.sh [OPTIONS] [TEXT]...    as of run-tests: the cases whose name contains one of the texts
set -euo pipefail
cd "$(dirname "$0")/.."
# With the tests, so that both share one set of features and nothing is built twice.
cargo build --locked --workspace --bin narthex --bin bed --bin run-tests --tests
bin=${CARGO_TARGET_DIR:-target}/debug
NARTHEX_BIN=$(realpath "$bin/narthex")
export NARTHEX_BIN
for pinned in tests/bed/kubernetes-*; do
  version=${pinned##*-}
  [[ -x ${CARGO_TARGET_DIR:-target}/bed/bin/kube-apiserver-$version ]] \
    || echo "Kubernetes $version is left out: its API server is not built (make bed-versions)" >&2
done
exec "$bin/bed" run -- "$bin/run-tests" --package e2e "$@"
