#!/usr/bin/env bash
# `make docs-site`: the pages of docs/ as a web site in target/docs-site, by mdBook; every link of it is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
sources=$target/docs-site-sources site=$target/docs-site
xtask() { cargo run --locked --quiet --package xtask -- "$@"; }
xtask site "$sources"
# Warnings are about pages that would not look as they were meant.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mdbook build "$sources" --dest-dir "$site" 2>&1 | tee "$log"
if grep -q 'WARN' "$log"; then echo "docs-site: warnings count as errors" >&2; exit 1; fi
xtask site-links "$site"
echo "written: $site/index.html"
