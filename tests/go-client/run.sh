#!/bin/bash
# Checks a gpud binary against what GPUd's Go client and its end-to-end suite rely on.
#
#   run.sh client GPUD     every function of the client, and the bytes behind them (our stand-in for the client)
#   run.sh suite  GPUD     the assertions of GPUd's suite, in our own words
#   run.sh published GPUD  GPUd's own suite, unmodified, from the Go module proxy
#
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail

readonly MODULE=github.com/leptonai/gpud VERSION=v0.13.0-alpha.4
readonly NOT_RUN=77

not_run() {
    printf '\n*** NOT RUN: %s ***\n*** Nothing was checked: this is no pass. ***\n\n' "$1" >&2
    exit "$NOT_RUN"
}

if [[ $# -ne 2 ]]; then
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 1
fi
what=$1
gpud=$(realpath -e -- "$2")
here=$(dirname -- "$(realpath -- "$0")")
export PATH="$PATH:/usr/local/go/bin"
command -v go >/dev/null || not_run "the Go client check ($what) needs Go, and there is none"
export GPUD_BIN=$gpud GOFLAGS=-mod=readonly GOWORK=off

# Bounded twice: by Go's own limit, which shows where it hangs, and by timeout, should Go itself hang.
tests() {
    timeout --kill-after=10 900 go test -count=1 -timeout=10m "$@"
}

cd "$here"
case $what in
client) tests -run '^(TestFunctions|TestBytes)$' . ;;
suite) tests -run '^TestSuite$' . ;;
published)
    work=$(mktemp -d)
    trap 'rm -rf -- "$work"' EXIT
    # The module as published, verified against Go's checksum database. Nothing of it is kept in this repository.
    if ! answer=$(timeout 300 go mod download -json "$MODULE@$VERSION" 2>&1); then
        not_run "the Go module proxy does not give $MODULE@$VERSION: $(sed -n 's/.*"Error": "\(.*\)".*/\1/p' <<<"$answer")"
    fi
    # A copy, because the daemon under test writes into the folder that it is started in, and Go's cache is read-only.
    cp -r -- "$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$answer")" "$work/module"
    chmod -R u+w "$work/module"
    cd "$work/module"
    export KMSG_FILE_PATH=/dev/null
    tests -v ./e2e
    ;;
*)
    echo "run.sh: $what is none of client, suite, published" >&2
    exit 1
    ;;
esac
