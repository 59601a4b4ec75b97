#!/usr/bin/env bash
# Builds the binary that runs on any Linux, whatever its C library: static, with musl, stripped.
# It goes to target/narthex-ARCHITECTURE, with the list of the crates in it (name, version, licence) to target/narthex-ARCHITECTURE.crates,
# and is run in an empty root to show that it needs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$(uname -m)
target=$arch-unknown-linux-musl
build=${CARGO_TARGET_DIR:-target}
scripts/setup.sh musl

# The C parts (ring, PCRE2) are built by musl's compiler, too; PCRE2 is the copy that its crate brings.
export "CC_${target//-/_}=musl-gcc" PCRE2_SYS_STATIC=1
# Messages of panics name files: the same ones wherever it is built.
# A package with an opt-level of its own loses the profile's `strip`.
export RUSTFLAGS="${RUSTFLAGS:+$RUSTFLAGS }-Cstrip=symbols --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/narthex"
# The label `build` of the metric build_info.
NARTHEX_COMMIT=${NARTHEX_COMMIT:-$(git rev-parse --short=12 HEAD 2>/dev/null || true)}
export NARTHEX_COMMIT
cargo build --locked --profile dist --target "$target" -p narthex
out=$build/narthex-$arch
cp "$build/$target/dist/narthex" "$out"
(cd "$build" && sha256sum "narthex-$arch" >"narthex-$arch.sha256")
cargo tree --locked -p narthex --edges normal,no-proc-macro --target "$target" --prefix none --format '{p}|{l}' \
  | sed -n '\|(/|d; s/ (\*)//; s/^\([^ ]*\) v\([^ |]*\)|\(.*\)/\1\t\2\t\3/p' | sed 's| */ *| OR |g' | LC_ALL=C sort -u >"$out.crates"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$out" "$root/narthex"
enter=(chroot)
[ "$(id -u)" = 0 ] || enter=(unshare --map-root-user --user chroot)
"${enter[@]}" "$root" /narthex explain proxy-body-size >/dev/null
printf '%s: %s MiB, runs without any other file\n' "$out" "$(($(stat -c %s "$out") / 1048576))"
