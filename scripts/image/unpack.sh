#!/usr/bin/env bash
# Unpacks an archive of `docker save` into a directory: the file system that a container of the image sees.
# Owners and capabilities are kept where root runs it. Usage: unpack.sh ARCHIVE DIRECTORY
set -euo pipefail
archive=$1 root=$2
part=$(mktemp -d)
trap 'rm -rf "$part"' EXIT
tar -C "$part" -xf "$archive"
rm -rf "$root"
mkdir -p "$root"
# The layers are named in one line, in order; each adds files, and none of ours removes any.
for layer in $(sed -n 's/.*"Layers":\[\([^]]*\)\].*/\1/p' "$part/manifest.json" | tr -d '"' | tr ',' ' '); do
  tar --numeric-owner --xattrs --xattrs-include='*' -C "$root" -xpf "$part/$layer"
done
chmod 755 "$root"
