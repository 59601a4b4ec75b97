#!/bin/sh
# Builds the control plane of the test bed (API server, controller manager,
# kubectl, etcd) and helm into target/bed/bin, from the versions which go.mod and
# go.sum beside this script pin. Does nothing, in milliseconds, when they are built.
#
# usage: tests/bed/build.sh [TARGET_DIR]     (default: target, beside Cargo.toml)
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
bed=${1:-${CARGO_TARGET_DIR:-$root/target}}/bed
bin=$bed/bin
min_go=1.24

say() { printf 'bed: %s\n' "$*"; }
die() { printf 'bed: %s\n' "$*" >&2; exit 1; }

# version MODULE DIR: the pinned version.
version() { sed -n "s|^\\(require\\)\\{0,1\\}[[:space:]]*$1 \\(v[^ ]*\\).*|\\2|p" "$here/$2/go.mod" | head -n 1; }

# stamp DIR: what the binaries of a module depend on.
stamp() { cat "$here/build.sh" "$here/$1/go.mod" "$here/$1/go.sum" | sha256sum | cut -d ' ' -f 1; }

# fresh DIR NAME...: are these binaries built from what is pinned now?
fresh() {
    dir=$1; shift
    [ "$(cat "$bed/$dir.stamp" 2>/dev/null)" = "$(stamp "$dir")" ] || return 1
    for name; do [ -x "$bin/$name" ] || return 1; done
}

need_go() {
    command -v go >/dev/null 2>&1 ||
        die "Go is missing: the test bed needs Go $min_go or newer (Debian 13: apt-get install golang-go; else https://go.dev/dl/)"
    have=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go//')
    lowest=$(printf '%s\n%s\n' "$min_go" "$have" | sort -V | head -n 1)
    [ "$lowest" = "$min_go" ] ||
        die "Go $have is too old: the test bed needs Go $min_go or newer (Debian 13: apt-get install golang-go; else https://go.dev/dl/)"
}

# build DIR LDFLAGS PACKAGE NAME: one binary, put in place only when it is whole.
build() {
    say "building $4 ($(version "${3%%/cmd/*}" "$1"))"
    (cd "$here/$1" && CGO_ENABLED=0 GOFLAGS='' GOWORK=off nice -n 5 \
        go build -mod=readonly -buildvcs=false -trimpath -ldflags "$2" -o "$bin/.$4.new" "$3") ||
        die "cannot build $4: see the messages above"
    mv -f "$bin/.$4.new" "$bin/$4"
}

if fresh kubernetes kube-apiserver kube-controller-manager kubectl && fresh etcd etcd && fresh helm helm; then
    say "ready in $bin"
    exit 0
fi

need_go
mkdir -p "$bin"
# One build at a time: a second caller waits here, then finds everything built.
exec 9>"$bed/.lock"
flock 9

if ! fresh etcd etcd; then
    build etcd "-s -w" go.etcd.io/etcd/server/v3 etcd
    stamp etcd >"$bed/etcd.stamp"
fi

if ! fresh helm helm; then
    # The Kubernetes that `helm template` and `helm lint` take for granted, as Helm's own builds do.
    minor=$(version k8s.io/client-go helm)
    minor=${minor#v*.}
    h=helm.sh/helm/v3
    flags="-s -w -X $h/internal/version.version=$(version $h helm)"
    for package in pkg/lint/rules pkg/chartutil; do
        flags="$flags -X $h/$package.k8sVersionMajor=1 -X $h/$package.k8sVersionMinor=${minor%%.*}"
    done
    build helm "$flags" $h/cmd/helm helm
    stamp helm >"$bed/helm.stamp"
fi

if ! fresh kubernetes kube-apiserver kube-controller-manager kubectl; then
    say "Kubernetes takes about four minutes on two cores the first time"
    kube=$(version k8s.io/kubernetes kubernetes)
    minor=${kube#v*.}
    v=k8s.io/component-base/version
    flags="-s -w -X $v.gitVersion=$kube -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean"
    for name in kube-apiserver kube-controller-manager kubectl; do
        build kubernetes "$flags" "k8s.io/kubernetes/cmd/$name" "$name"
    done
    stamp kubernetes >"$bed/kubernetes.stamp"
fi
say "ready in $bin"
