#!/usr/bin/env bash
# Exports to a real PostgreSQL and an S3 server (moto, behind a check of signatures) on this machine's loopback.
#
#   tests/rows/run.sh [GPUD]   gpud on a made-up machine: an Xid becomes rows and objects, servers that are down for a while,
#                              every query of docs/, a row for each serial number
#   tests/rows/run.sh export   the crate gpud-exports: batches, repeats, TLS, refused rows, credentials
#
# PostgreSQL is that of GPUD_TEST_TOOLS (tests/tools.sh fetches it), else the installed one. moto is that of this machine's
# Python, else one from PyPI in GPUD_TEST_TOOLS_CACHE (~/.cache/gpud-test-tools).
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
cd "$here/../.."
export PYTHONDONTWRITEBYTECODE=1
not_run() { echo "NOT RUN: $1" >&2; exit 77; }
for program in python3 openssl; do
  command -v "$program" >/dev/null || not_run "there is no $program"
done

python=$("$here/python.sh")
work=$(mktemp -d)
# PostgreSQL runs as another user.
chmod 755 "$work"
server=
finish() {
  # The servers end when nobody holds their standard input.
  exec 7>&- || true
  [[ -z $server ]] || wait "$server" || true
  rm -rf -- "$work"
}
trap finish EXIT
if [[ ${1:-} = export ]]; then
  mkfifo "$work/input" "$work/output"
  "$python" "$here/servers.py" "$work" <"$work/input" >"$work/output" 2>"$work/servers.log" &
  server=$!
  exec 7>"$work/input"
  if ! read -r -t 150 facts <"$work/output"; then
    cat "$work/servers.log" >&2
    if grep --quiet '^NOT RUN' "$work/servers.log"; then exit 77; fi
    exit 1
  fi
  GPUD_TEST_ROWS=$facts timeout --kill-after=10 900 \
    tests/real.sh rows:: 7>&-
  exit
fi
target=${CARGO_TARGET_DIR:-target}
gpud=$(realpath -e -- "${1:-$target/debug/gpud}")
mock=$(dirname -- "$gpud")/libgpud_nvml_mock.so
[[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
mock=${GPUD_TEST_NVML_MOCK:-$mock}
[[ -e $mock ]] || not_run "there is no libgpud_nvml_mock.so beside $gpud (cargo build --package gpud-nvml-mock)"
timeout --kill-after=10 600 "$python" "$here/check.py" "$gpud" "$(realpath -- "$mock")" "$work"
