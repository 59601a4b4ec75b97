#!/usr/bin/env bash
# `make image`: builds the image with docker, podman or buildah, whichever works here, and puts it into target/image as well:
#   narthex.tar      for `docker load` and `podman load`
#   sbom.spdx.json   what is in it
# Variables:
#   IMAGE    its name [narthex:VERSION]
#   BASE     the image of Debian 13 that it begins with [docker.io/library/debian:trixie-slim]; debootstrap: made here from Debian's
#            packages, for machines that reach no registry
#   BINARY   the binary of `make release` in target/ [built first, where Rust is]; build: it is built in a container
#   ENGINE   docker, podman or buildah [the first of them that works]
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'image: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
git diff --quiet HEAD 2>/dev/null || revision+=-modified
# Times in the image are that of the commit.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
image=${IMAGE:-narthex:$version}
base=${BASE:-docker.io/library/debian:trixie-slim}
arch=$(uname -m)
out=target/image
mkdir -p "$out"

works() { # engine
  case $1 in
    docker) command -v docker >/dev/null && docker info >/dev/null 2>&1 && docker buildx version >/dev/null 2>&1 ;;
    podman) command -v podman >/dev/null && podman info >/dev/null 2>&1 ;;
    buildah) command -v buildah >/dev/null ;;
    *) fail "ENGINE=$1: expected docker, podman or buildah" ;;
  esac
}

choose() {
  local engine
  if [ -n "${ENGINE:-}" ]; then
    works "$ENGINE" || fail "ENGINE=$ENGINE does not work here: expected its command, with a running daemon and buildx for docker"
    echo "$ENGINE"
    return
  fi
  for engine in docker podman buildah; do
    if works "$engine"; then echo "$engine"; return; fi
  done
  fail "no docker with a running daemon and buildx, no podman and no buildah: install one of them (Debian: scripts/setup.sh image)"
}

binary() { # path in the build context, empty: built in a container
  case ${BINARY:-} in
    build) ;;
    "") if command -v cargo >/dev/null; then
        say "building the binary"
        scripts/release.sh >&2
        echo "target/narthex-$arch"
      else
        say "no Rust here: the binary is built in a container"
      fi ;;
    *) case $BINARY in target/narthex-*) ;; *) fail "BINARY=$BINARY: expected target/narthex-ARCHITECTURE, or build" ;; esac
      [ -f "$BINARY" ] && [ -f "$BINARY.crates" ] || fail "BINARY=$BINARY: expected the binary and $BINARY.crates, which make release writes"
      echo "$BINARY" ;;
  esac
}

# Debian 13 from its packages, as a base. Made once: remove the file for a newer one.
debootstrapped() {
  local tar=$PWD/$out/base.tar root
  if [ ! -f "$tar" ]; then
    command -v debootstrap >/dev/null || fail "BASE=debootstrap: debootstrap is missing (Debian: scripts/setup.sh image)"
    [ "$(id -u)" = 0 ] || fail "BASE=debootstrap: debootstrap needs root"
    say "installing Debian 13 into a directory"
    root=$(mktemp -d)
    chmod 755 "$root"
    debootstrap --variant=minbase trixie "$root" "${MIRROR:-http://deb.debian.org/debian}" >"$out/debootstrap.log" 2>&1 \
      || fail "debootstrap failed: see $out/debootstrap.log"
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    tar --numeric-owner -C "$root" -cf "$tar.part" .
    mv "$tar.part" "$tar"
    rm -rf "$root"
  fi
  # Named by its content: imported once.
  base=localhost/narthex-base:$(sha256sum "$tar" | cut -c 1-16)
  case $engine in
    docker | podman) ! "$engine" image inspect "$base" >/dev/null 2>&1 || return 0 ;;
    buildah) ! "${buildah[@]}" inspect --type image "$base" >/dev/null 2>&1 || return 0 ;;
  esac
  say "importing $tar as $base"
  case $engine in
    docker | podman) "$engine" import "$tar" "$base" >/dev/null ;;
    buildah)
      local container
      container=$("${buildah[@]}" from scratch)
      "${buildah[@]}" add -q "$container" "$tar" / >/dev/null
      "${buildah[@]}" commit -q "$container" "$base" >/dev/null
      "${buildah[@]}" rm "$container" >/dev/null ;;
  esac
}

engine=$(choose)
say "with $engine"
# Neither a daemon nor user namespaces nor an overlay file system: all that it needs is root, or a range of user ids.
buildah=(buildah --storage-driver "${STORAGE_DRIVER:-vfs}")
binary=$(binary)
pull=()
if [ "$base" = debootstrap ]; then
  debootstrapped
  case $engine in podman | buildah) pull=(--pull-never) ;; esac
  [ "$engine" != podman ] || pull=(--pull=never)
fi
arguments=(--build-arg "BASE=$base" --build-arg "VERSION=$version" --build-arg "REVISION=$revision" --build-arg "SOURCE_DATE_EPOCH=$epoch"
  --build-arg "CREATED=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" --build-arg "BINARY=$binary")
# A binary that is there needs no image with Rust.
[ -z "$binary" ] || arguments+=(--build-arg "BUILDER=$base")

say "building $image from $base"
rm -f "$out/narthex.tar"
case $engine in
  docker)
    docker buildx build "${arguments[@]}" --provenance=false --load -t "$image" .
    docker save -o "$out/narthex.tar" "$image" ;;
  podman)
    podman build "${pull[@]}" "${arguments[@]}" --timestamp "$epoch" --format docker -t "$image" .
    podman save --format docker-archive -o "$out/narthex.tar" "$image" ;;
  buildah)
    "${buildah[@]}" bud --isolation chroot "${pull[@]}" "${arguments[@]}" --timestamp "$epoch" --format docker --layers=false -t "$image" .
    "${buildah[@]}" push -q "$image" "docker-archive:$out/narthex.tar:$image" ;;
esac
scripts/image/unpack.sh "$out/narthex.tar" "$out/root"
cp "$out/root/usr/share/narthex/sbom.spdx.json" "$out/sbom.spdx.json"

say "$image: $(($(stat -c %s "$out/narthex.tar") / 1000000)) MB, compressed $(($(gzip -c "$out/narthex.tar" | wc -c) / 1000000)) MB"
say "in $out: narthex.tar for docker load and podman load, sbom.spdx.json, the files in root/"
[ "$engine" != buildah ] || say "to push it: ${buildah[*]} push $image docker://REGISTRY/NAME"
