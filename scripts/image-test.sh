#!/usr/bin/env bash
# `make image-test`: runs the image of `make image` in containers, alone and as Pods of releases in the bed.
# crun needs root; no daemon and no registry is asked.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/target/image/root
[ -d "$root" ] || { echo "image-test: $root is missing: run make image first" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "image-test: users and capabilities of containers need root: run it as root" >&2; exit 1; }
cargo build --locked --workspace --bin bed --bin run-tests --test image
bin=$(realpath "${CARGO_TARGET_DIR:-target}/debug")
# crun refuses a machine with both versions of control groups: it is shown the first alone.
unshare --mount bash -c 'umount -l /sys/fs/cgroup/unified 2>/dev/null || true; exec "$@"' - \
  env "NARTHEX_IMAGE_ROOT=$root" "$bin/bed" run -- "$bin/run-tests" --test image "$@"
