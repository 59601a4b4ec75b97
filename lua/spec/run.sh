#!/usr/bin/env bash
# Runs lua/spec against a real NGINX: ./run.sh [case...]
#
# NARTHEX_SPEC_PORT: first of eleven loopback ports (default 18400). NGINX, NGINX_MODULES: where NGINX is.
# Prints a line per check, then `N passed, M failed`; exits 1 if any failed.
set -uo pipefail
cd "$(dirname "$0")" || exit 2

SPEC=$PWD
NGINX=${NGINX:-nginx}
MODULES=${NGINX_MODULES:-/usr/lib/nginx/modules}
PORT=${NARTHEX_SPEC_PORT:-18400}
HTTP=$PORT HTTPS=$((PORT + 1)) REFERENCE=$((PORT + 2))
A=$((PORT + 3)) B=$((PORT + 4)) C=$((PORT + 5)) SIX=$((PORT + 6)) SLOW=$((PORT + 7))
DEAD=$((PORT + 8)) DEAD2=$((PORT + 9)) AUTH=$((PORT + 10))
PREFIX=$(mktemp -d)

. ./lib.sh
trap cleanup EXIT
trap 'exit 130' INT TERM

prepare
for file in ${*:-cases/*.sh}; do
    current=$(basename "$file" .sh)
    fresh
    . "./cases/$current.sh"
done
final_checks
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
