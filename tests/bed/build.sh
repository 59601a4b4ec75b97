#!/usr/bin/env bash
# Builds the control plane of the test bed (API server, controller manager,
# kubectl, etcd) and helm into target/bed/bin, from the versions which go.mod and
# go.sum beside this script pin. Does nothing, in milliseconds, when they are built.
# An etcd (3.5 or a newer 3) and a Helm (3, not older than the pinned minor version)
# in PATH are taken instead of being built (Debian 13: apt-get install etcd-server).
# With --versions: the API servers of other versions of Kubernetes (kubernetes-*),
# as kube-apiserver-1.32 and so on; those that need a newer Go are left out.
#
# usage: tests/bed/build.sh [--versions] [TARGET_DIR]     (default: target, beside Cargo.toml)
set -euo pipefail

versions=
if [ "${1:-}" = --versions ]; then versions=yes; shift; fi

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
bed=${1:-${CARGO_TARGET_DIR:-$root/target}}/bed
bin=$bed/bin
min_go=1.24

say() { printf 'bed: %s\n' "$*"; }
die() { printf 'bed: %s\n' "$*" >&2; exit 1; }

# version MODULE DIR: the pinned version.
version() { sed -n "s|^\\(require\\)\\{0,1\\}[[:space:]]*$1 \\(v[^ ]*\\).*|\\2|p" "$here/$2/go.mod" | head -n 1; }

# stamp DIR: what the binaries of a module depend on: versions, and the flags below.
stamp() { { grep -E '^ *(flags=|build |go build|echo "-s )' "$here/build.sh"; cat "$here/$1/go.mod" "$here/$1/go.sum"; } | sha256sum | cut -d ' ' -f 1; }

# fresh DIR NAME...: are these binaries built from what is pinned now?
fresh() {
    dir=$1; shift
    [ "$(cat "$bed/$dir.stamp" 2>/dev/null)" = "$(stamp "$dir")" ] || return 1
    for name; do [ -x "$bin/$name" ] || return 1; done
}

# has_go VERSION: is Go this new? Sets `have`.
has_go() {
    have=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go//')
    [ "$(printf '%s\n%s\n' "$1" "$have" | sort -V | head -n 1)" = "$1" ]
}

need_go() {
    command -v go >/dev/null 2>&1 ||
        die "Go is missing: the test bed needs Go $min_go or newer (Debian 13: apt-get install golang-go; else https://go.dev/dl/)"
    has_go "$min_go" ||
        die "Go $have is too old: the test bed needs Go $min_go or newer (Debian 13: apt-get install golang-go; else https://go.dev/dl/)"
}

# kubernetes_flags DIR: linker flags by which its binaries know their version.
kubernetes_flags() {
    kube=$(version k8s.io/kubernetes "$1")
    minor=${kube#v*.}
    v=k8s.io/component-base/version
    echo "-s -w -X $v.gitVersion=$kube -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean"
}

# build DIR LDFLAGS PACKAGE NAME: one binary, put in place only when it is whole.
build() {
    local total
    say "building $4 ($(version "${3%%/cmd/*}" "$1"))"
    total=$(cd "$here/$1" && CGO_ENABLED=0 GOFLAGS='' GOWORK=off go list -mod=readonly -deps "$3" | wc -l) ||
        die "cannot find the packages of $4: see the messages above"
    (cd "$here/$1" && CGO_ENABLED=0 GOFLAGS='' GOWORK=off nice -n 5 \
        go build -v -mod=readonly -buildvcs=false -trimpath -gcflags=all=-dwarf=false -ldflags "$2" -o "$bin/.$4.new" "$3") 2>&1 | progress "$4" "$total" ||
        die "cannot build $4: see the messages above"
    mv -f "$bin/.$4.new" "$bin/$4"
}

# progress NAME TOTAL: the count of the packages that `go build -v` names on standard input; other lines as they are.
# Packages that another build has left in Go's cache are not named.
progress() {
    local count=0 line
    while IFS= read -r line; do
        case $line in
            *[\ :#]*) printf '%s\n' "$line" >&2; continue ;;
        esac
        count=$((count + 1))
        if [ -t 1 ]; then
            printf '\rbed: %s: %d of at most %d packages' "$1" "$count" "$2"
        elif [ $((count % 200)) = 0 ]; then
            say "$1: $count of at most $2 packages"
        fi
    done
    [ ! -t 1 ] || [ "$count" = 0 ] || printf '\n'
}

# installed NAME LOWEST VERSION: a link to the program of PATH, if its version is that or newer and has the same major number.
installed() {
    local path lowest
    path=$(command -v "$1") && [ -n "$3" ] && [ "${3%%.*}" = "${2%%.*}" ] || return 1
    lowest=$(printf '%s\n%s\n' "$2" "$3" | sort -V | head -n 1)
    [ "$lowest" = "$2" ] || return 1
    say "$1 $3 of $path is used"
    ln -sfn "$path" "$bin/$1"
}

# other_versions: builds the API servers of kubernetes-*.
other_versions() {
    for path in "$here"/kubernetes-*; do
        dir=${path##*/}
        name=kube-apiserver-${dir#kubernetes-}
        needed=$(sed -n 's/^go //p' "$path/go.mod")
        if ! has_go "$needed"; then
            say "$name is left out: it needs Go $needed or newer, this is $have"
        elif ! fresh "$dir" "$name"; then
            build "$dir" "$(kubernetes_flags "$dir")" k8s.io/kubernetes/cmd/kube-apiserver "$name"
            stamp "$dir" >"$bed/$dir.stamp"
        fi
    done
}

if [ -n "$versions" ]; then
    need_go
    mkdir -p "$bin"
    exec 9>"$bed/.lock"
    flock 9
    other_versions
    say "API servers of other versions are in $bin"
    exit 0
fi

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
    installed etcd 3.5 "$(etcd --version 2>/dev/null | sed -n 's/^etcd Version: //p')" ||
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
    pinned=$(version $h helm)
    pinned=${pinned#v}
    installed helm "${pinned%.*}" "$(helm version --template '{{.Version}}' 2>/dev/null | sed 's/^v//')" ||
        build helm "$flags" $h/cmd/helm helm
    stamp helm >"$bed/helm.stamp"
fi

if ! fresh kubernetes kube-apiserver kube-controller-manager kubectl; then
    say "Kubernetes takes about four minutes on two idle cores the first time"
    for name in kube-apiserver kube-controller-manager kubectl; do
        build kubernetes "$(kubernetes_flags kubernetes)" "k8s.io/kubernetes/cmd/$name" "$name"
    done
    stamp kubernetes >"$bed/kubernetes.stamp"
fi
say "ready in $bin"
