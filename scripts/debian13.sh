#!/usr/bin/env bash
# Runs a command in a root of Debian 13: there the tests meet NGINX 1.26, whatever this machine has. What cargo built here runs there, nothing is
# compiled in it.
# Usage: debian13.sh test        the suites that meet NGINX
#        debian13.sh COMMAND...  a command in this directory, as root, with the environment of the caller
# NGINX_ROOT: the root [target/debian13]; one that is there already is taken as it is.
# CASES: of the end-to-end cases those whose name contains one of these texts [all]
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
root=$(realpath -m "${NGINX_ROOT:-$target/debian13}")

# As scripts/setup.sh has them for the machine itself.
packages=(nginx libnginx-mod-http-{lua,headers-more-filter,modsecurity,brotli-filter,geoip2} libnginx-mod-stream libnginx-mod-stream-js lua-cjson
  modsecurity-crs libfaketime openssl curl jq ca-certificates iproute2 systemd diffutils git)

say() { printf 'debian13: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

[ "$(id -u)" = 0 ] || fail "a root of another release needs root"
if [ -n "${NGINX_ROOT:-}" ]; then
  [ -x "$root/usr/sbin/nginx" ] || fail "NGINX_ROOT=$NGINX_ROOT: expected a root with usr/sbin/nginx"
elif [ "$(cat "$root/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  log=$target/debian13.log
  mkdir -p "$target"
  if [ ! -x "$root/usr/bin/apt-get" ]; then
    command -v debootstrap >/dev/null || fail "debootstrap is missing (Debian: scripts/setup.sh debian13)"
    say "installing Debian 13 into $root (once, about two minutes)"
    rm -rf "$root" "$root.part"
    mkdir -p "$root.part"
    debootstrap --variant=minbase trixie "$root.part" "${MIRROR:-http://deb.debian.org/debian}" >"$log" 2>&1 || fail "debootstrap failed: see $log"
    mv "$root.part" "$root"
  fi
  cp -L /etc/resolv.conf "$root/etc/"
  say "installing NGINX there"
  { chroot "$root" apt-get update -qq && DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >>"$log" 2>&1 ||
    fail "apt-get failed: see $log"
  chroot "$root" apt-get clean
  echo "${packages[*]}" >"$root/packages"
fi
if [ "$*" = test ]; then
  cargo build --locked --workspace --bin narthex --bin bed --bin run-tests --tests
  # There cargo would compile again.
  "$target/debug/run-tests" --save "$target/debian13-tests.list"
  set -- bash -euc '
    suite=("$0/debug/run-tests" --from "$0/debian13-tests.list")
    lua/spec/run.sh
    # Cases, and the crates that start NGINX: the rest knows none. What makes a test too slow is no work for the sort of this NGINX.
    "${suite[@]}" --package nginx --package equivalence --package narthex --not-binary narthex --not whose_text_makes_the_test_too_slow
    NARTHEX_BIN=$0/debug/narthex "$0/debug/bed" run -- "${suite[@]}" --package e2e --binary cases --not cases::browser:: --not cases::obs::prometheus:: ${CASES:-}
  ' "$target"
fi

# Mounts of its own: they end with the command.
export NARTHEX_ROOT_DIRECTORY=$root NARTHEX_TARGET=$target
# shellcheck disable=SC2016 # For the inner shell.
exec unshare --mount --propagation private bash -euc '
  root=$NARTHEX_ROOT_DIRECTORY
  # A mount, so that what runs in it can change the mounts below /.
  mount --bind "$root" "$root"
  for directory in /dev /proc /sys "$PWD" "$NARTHEX_TARGET" "${CARGO_HOME:-$HOME/.cargo}" "${RUSTUP_HOME:-$HOME/.rustup}"; do
    mkdir -p "$root$directory"
    mount --rbind "$directory" "$root$directory"
  done
  mount -t tmpfs tmpfs "$root/tmp"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  unset NARTHEX_ROOT_DIRECTORY NARTHEX_TARGET
  directory=$PWD
  # Not chroot: in one there are no user namespaces, and nsenter leaves it.
  cd "$root"
  pivot_root . .
  umount -l .
  exec env --chdir="$directory" "$@"
' debian13 "$@"
