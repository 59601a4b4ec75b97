#!/usr/bin/env bash
# `make bench`: a newcomer's first minutes, criterion for the pure parts, then everything end to end in the bed; writes
# docs/benchmarks.md and the plots in docs/performance.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
# The same packages for both, so that both share one set of features and nothing is built twice.
packages=(-p narthex -p bench -p testkit)
cargo build --locked --release "${packages[@]}"
criterion=$(mktemp)
first=$(scripts/first-run.sh)
trap 'rm -f "$criterion" "$criterion.md"' EXIT
cargo bench --locked "${packages[@]}" --features bench/criterion --bench model -- --output-format bencher | tee "$criterion"
{
  printf '## First minutes\n\nRust and NGINX are there before (`scripts/first-run.sh`).\n\n| | | target | met |\n|---|---|---|---|\n%s\n\n' "$first"
  printf '## The pure parts\n\nOne thread, by criterion (`cargo bench -p bench --features criterion`).\n\n| | time | target | met |\n|---|---|---|---|\n'
  # test model/build from nothing/1000 ... bench:   1234567 ns/iter (+/- 1234)
  sed -nE 's|^test model/(.*)/([0-9]+) \.\.\. bench: +([0-9,]+) ns/iter.*|\1, \2 Ingresses\t\3|p' "$criterion" |
    awk -F'\t' '{
      gsub(",", "", $2)
      target = met = ""
      if ($1 ~ /^build from nothing, ten annotations each, 10000 /) { target = "≤ 1.5 s"; met = $2 + 0 <= 1.5e9 ? "yes" : "NO" }
      else if ($1 ~ /^build, plan and delta after .*annotation.*, ten each, 10000 /) { target = "≤ 10 ms"; met = $2 + 0 <= 1e7 ? "yes" : "NO" }
      else if ($1 ~ /^build, plan and delta after a key that only .*, 10000 /) { target = "≤ 15 ms"; met = $2 + 0 <= 1.5e7 ? "yes" : "NO" }
      else if ($1 ~ /^build, plan and delta after a key /) { }
      else if ($1 ~ /^build, plan and delta after .*, 10000 /) { target = "≤ 3 ms"; met = $2 + 0 <= 3e6 ? "yes" : "NO" }
      printf "| %s | %.3f ms | %s | %s |\n", $1, $2 / 1e6, target, met
    }'
} >"$criterion.md"
NARTHEX_BIN=$(realpath "$target/release/narthex")
export NARTHEX_BIN
"$target/release/bed" run -- "$target/release/bench" docs/benchmarks.md "$criterion.md"
echo "written: docs/benchmarks.md, docs/performance"
