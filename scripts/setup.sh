#!/usr/bin/env bash
# Installs what a target needs and this machine lacks. Quick when nothing is missing.
# Usage: setup.sh PART...   with PART: downloads, nginx, browser, lint, docs-site, go, bench, musl, image, container, debian13, pages, prometheus
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

apt_updated=
apt_install() { # packages
  command -v apt-get >/dev/null || fail "please install: $* (apt-get is not here to do it)"
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "please install as root: apt-get install $*"
    sudo=(sudo)
  fi
  say "installing $*"
  if [ -z "$apt_updated" ]; then
    "${sudo[@]}" apt-get update -qq || fail "apt-get update failed"
    apt_updated=1
  fi
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null \
    || fail "apt-get install $* failed"
}

need_cargo() {
  command -v cargo >/dev/null || fail "Rust is missing: install rustup (Debian: apt-get install rustup) and run 'rustup default stable'"
}

for part in "$@"; do
  case $part in
    downloads)
      # In the background, and silent: what fails here is fetched, or named, by the step that builds it.
      {
        cargo fetch --locked --quiet &
        for module in helm kubernetes etcd; do (cd "tests/bed/$module" && GOWORK=off go mod download); done
        wait
      } >/dev/null 2>&1 </dev/null &
      ;;
    nginx)
      need_cargo
      missing=()
      command -v cc >/dev/null || missing+=(gcc libc6-dev)
      command -v curl >/dev/null || missing+=(curl)
      command -v ip >/dev/null || missing+=(iproute2)
      command -v openssl >/dev/null || missing+=(openssl)
      command -v jq >/dev/null || missing+=(jq)
      command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=(nginx)
      dpkg -s libnginx-mod-http-lua >/dev/null 2>&1 || missing+=(libnginx-mod-http-lua)
      dpkg -s lua-cjson >/dev/null 2>&1 || missing+=(lua-cjson)
      # For snippets, compression, places of clients, TCP and UDP, and the firewall; and for steps of the clock. Only the tests need all of them.
      for package in libnginx-mod-http-headers-more-filter libnginx-mod-http-brotli-filter libnginx-mod-http-geoip2 libnginx-mod-stream libnginx-mod-stream-js libnginx-mod-http-modsecurity modsecurity-crs libfaketime; do
        dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
      done
      if [ ${#missing[@]} -gt 0 ]; then
        # Debian starts its own NGINX after the installation: that would take port 80.
        apt_install "${missing[@]}"
        if [ "$(id -u)" = 0 ] && command -v systemctl >/dev/null; then systemctl disable --now nginx >/dev/null 2>&1 || true; fi
      fi
      ;;
    browser)
      # The console is tested in it.
      missing=()
      command -v chromium >/dev/null || missing+=(chromium)
      command -v chromedriver >/dev/null || missing+=(chromium-driver)
      [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" fonts-dejavu-core
      ;;
    lint)
      need_cargo
      rustup component add rustfmt clippy >/dev/null 2>&1 || true
      command -v luacheck >/dev/null || apt_install lua-check
      cargo deny --version >/dev/null 2>&1 || {
        say "building cargo-deny (once, some minutes)"
        cargo install --locked --quiet --debug --no-default-features cargo-deny
      }
      ;;
    docs-site)
      need_cargo
      # One version for all, since pages, links and styles depend on it. Without its server: search is all that is needed.
      version=0.5.2
      [ "$(mdbook --version 2>/dev/null)" = "mdbook v$version" ] || {
        say "building mdBook $version (once, about two minutes on two cores)"
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --quiet --debug --no-default-features --features search --version "$version" mdbook
      }
      ;;
    go)
      command -v go >/dev/null || fail "Go is missing, which builds the API server of the test bed: install Go 1.24 or newer (Debian 13: apt-get install golang)"
      ;;
    bench)
      command -v wrk >/dev/null || apt_install wrk
      command -v h2load >/dev/null || apt_install nghttp2-client
      command -v inotifywait >/dev/null || apt_install inotify-tools
      ;;
    musl)
      need_cargo
      command -v musl-gcc >/dev/null || apt_install musl-tools
      rustup target list --installed | grep -qx "$(uname -m)-unknown-linux-musl" || rustup target add "$(uname -m)-unknown-linux-musl"
      ;;
    image)
      missing=()
      command -v buildah >/dev/null || missing+=(buildah)
      command -v debootstrap >/dev/null || missing+=(debootstrap)
      [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
      ;;
    debian13)
      command -v debootstrap >/dev/null || apt_install debootstrap
      ;;
    container)
      command -v crun >/dev/null || apt_install crun
      command -v ip >/dev/null || apt_install iproute2
      ;;
    pages)
      # The commands of docs/ and the unit in deploy/ are tested with them.
      missing=()
      command -v systemd-analyze >/dev/null || missing+=(systemd)
      command -v diff >/dev/null || missing+=(diffutils)
      [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
      ;;
    prometheus)
      if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
        apt_install prometheus
        # Debian starts its own after the installation, and the exporter beside it.
        if [ "$(id -u)" = 0 ] && command -v systemctl >/dev/null; then systemctl disable --now prometheus prometheus-node-exporter >/dev/null 2>&1 || true; fi
      fi
      ;;
    *) fail "unknown part $part" ;;
  esac
done
