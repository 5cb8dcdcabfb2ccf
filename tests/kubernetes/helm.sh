#!/bin/bash
# Builds helm from its Go module, once for each version.
#
#   helm.sh      leaves the program in the folder of test tools and prints the folder to put before PATH
#
# GPUD_TEST_TOOLS_CACHE names another folder than ~/.cache/gpud-test-tools. An exit status of 77 says that it cannot be had
# here, and a line on stderr says why.
set -euo pipefail

version=3.19.0
cache=$(realpath -m -- "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}")

not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}

helm=$cache/helm-$version
mkdir -p -- "$cache"
exec 9>"$cache/.helm.lock"
flock 9
if [[ ! -x $helm/helm ]]; then
    command -v go >/dev/null || not_run "helm is built from its Go module, and there is no go"
    work=$(mktemp -d -p "$cache")
    trap 'rm -rf -- "$work"' EXIT
    GOBIN=$work GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0 \
        go install -trimpath -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@v$version" >&2 ||
        not_run "helm $version cannot be built; the lines above say why"
    mkdir -p -- "$helm"
    mv -- "$work/helm" "$helm/helm"
fi
echo "$helm"
