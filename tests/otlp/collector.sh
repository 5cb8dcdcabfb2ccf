#!/bin/bash
# Builds the collector of collector/ from OpenTelemetry's Go modules, once for each version of it.
#
#   collector.sh      leaves the program in the folder of test tools and prints its path
#
# GPUD_TEST_TOOLS_CACHE names another folder than ~/.cache/gpud-test-tools. An exit status of 77 says that it cannot be
# had here, and a line on stderr says why.
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")/collector
cache=$(realpath -m -- "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}")
not_run() { echo "NOT RUN: $*" >&2; exit 77; }

sum=$(cat -- "$here/main.go" "$here/go.sum" | sha256sum | head --bytes 12)
folder=$cache/otel-collector-$sum
mkdir -p -- "$cache"
exec 9>"$cache/.otel-collector.lock"
flock 9
if [[ ! -x $folder/collector ]]; then
    command -v go >/dev/null || not_run "the collector is built from Go modules, and there is no go"
    work=$(mktemp -d -p "$cache")
    trap 'rm -rf -- "$work"' EXIT
    (
        cd "$here"
        export GOWORK=off CGO_ENABLED=0
        # The other core is for the other tests.
        nice go build -p 1 -mod=readonly -trimpath -ldflags "-s -w" -o "$work/collector" .
    ) >&2 || not_run "the collector cannot be built; the lines above say why"
    mkdir -p -- "$folder"
    # It appears under its final name when it is whole.
    mv -- "$work/collector" "$folder/collector"
fi
echo "$folder/collector"
