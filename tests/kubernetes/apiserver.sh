#!/bin/bash
# Builds kube-apiserver and kubectl from their Go module and gets etcd from Debian, each once for each version.
#
#   apiserver.sh      leaves the programs in the folder of test tools and prints the folders to put before PATH
#
# GPUD_TEST_TOOLS_CACHE names another folder than ~/.cache/gpud-test-tools. An exit status of 77 says that a part cannot
# be had here, and a line on stderr says which.
set -euo pipefail

version=1.34.1
cache=$(realpath -m -- "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}")

not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}

# The programs appear under their final name when they are whole, so a run that is cut off leaves nothing half.
programs=$cache/kube-apiserver-$version
etcd=$cache/etcd-server
mkdir -p -- "$cache"
exec 9>"$cache/.apiserver.lock"
flock 9

if [[ ! -x $etcd/usr/bin/etcd ]]; then
    command -v apt-get >/dev/null || not_run "etcd comes from Debian's etcd-server, and there is no apt-get"
    work=$(mktemp -d -p "$cache")
    (
        cd "$work"
        apt-get download etcd-server >&2 || { apt-get update >&2 && apt-get download etcd-server >&2; }
        dpkg-deb --extract etcd-server_*.deb root
    ) || { rm -rf -- "$work"; not_run "Debian's etcd-server cannot be fetched"; }
    rm -rf -- "$etcd"
    mv -- "$work/root" "$etcd"
    rm -rf -- "$work"
fi

if [[ ! -x $programs/kube-apiserver || ! -x $programs/kubectl ]]; then
    command -v go >/dev/null || not_run "kube-apiserver and kubectl are built from their Go module, and there is no go"
    export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
    source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p') || true
    [[ -d $source ]] || not_run "the Go module k8s.io/kubernetes v$version cannot be fetched"
    work=$(mktemp -d -p "$cache")
    trap 'chmod -R u+w -- "$work"; rm -rf -- "$work"' EXIT
    cp -r -- "$source" "$work/src"
    chmod -R u+w -- "$work/src"
    mkdir -p -- "$programs"
    (
        cd "$work/src"
        # The module's own parts are published as modules too; in its repository they are folders.
        parts=$(sed -n 's|^\t*\(k8s.io/[a-z0-9-]*\) => ./staging/src/.*|\1|p' go.mod)
        rm -rf vendor go.work go.work.sum
        for part in $parts; do
            go mod edit -dropreplace="$part" -require="$part@v0.${version#1.}"
        done
        for program in kube-apiserver kubectl; do
            [[ ! -x $programs/$program ]] || continue
            go build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=v$version" \
                -o "$work/$program" "./cmd/$program"
            mv -- "$work/$program" "$programs/$program"
        done
    ) >&2 || not_run "kube-apiserver and kubectl $version cannot be built; the lines above say why"
fi
echo "$programs:$etcd/usr/bin"
