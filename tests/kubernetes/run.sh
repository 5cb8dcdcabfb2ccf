#!/bin/bash
# Checks the export to Kubernetes: a real gpud on a made-up machine against a real API server with etcd behind it.
#
#   run.sh [GPUD]
#
# The first time it builds the API server (apiserver.sh), which takes minutes; then it takes about a minute.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
target=${CARGO_TARGET_DIR:-$here/../../target}
gpud=$(realpath -e -- "${1:-$target/debug/gpud}")
mock=$(dirname -- "$gpud")/libgpud_nvml_mock.so
[[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
mock=$(realpath -e -- "${GPUD_TEST_NVML_MOCK:-$mock}")
for program in openssl python3; do
    command -v "$program" >/dev/null || { echo "NOT RUN: there is no $program" >&2; exit 77; }
done
tools=$("$here/apiserver.sh")
export PATH="$tools:$PATH"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
timeout --kill-after=10 600 python3 "$here/check.py" "$gpud" "$mock" "$work"
