#!/bin/bash
# Checks the export by OTLP against a real OpenTelemetry collector.
#
#   run.sh GPUD      gpud on a made-up machine of eight GPUs: metrics and log records by gRPC and HTTP, a collector that is
#                    down while an Xid happens and gpud is killed, TLS, wrong endpoints; about a minute
#   run.sh export    the crate gpud-exports alone: both protocols, with and without compression and TLS; seconds, once it is built
#
# The first time it builds the collector (collector.sh), which takes a few minutes.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
export PYTHONDONTWRITEBYTECODE=1
what=${1:-${CARGO_TARGET_DIR:-$here/../../target}/debug/gpud}
for program in openssl python3; do
    command -v "$program" >/dev/null || { echo "NOT RUN: there is no $program" >&2; exit 77; }
done
if [[ $what != export ]]; then
    gpud=$(realpath -e -- "$what")
    mock=$(dirname -- "$gpud")/libgpud_nvml_mock.so
    [[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
    mock=$(realpath -e -- "${GPUD_TEST_NVML_MOCK:-$mock}")
fi
collector=$("$here/collector.sh")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
case $what in
export)
    cd "$here/../.."
    timeout --kill-after=10 900 python3 "$here/with_collector.py" "$collector" "$work" \
        tests/real.sh otlp::
    ;;
*) timeout --kill-after=10 600 python3 "$here/check.py" "$gpud" "$mock" "$collector" "$work" ;;
esac
echo "OTLP: passed"
