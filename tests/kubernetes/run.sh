#!/bin/bash
# Checks the export to Kubernetes against a real API server (RBAC, the rights of deploy/kubernetes/rbac.yaml) with etcd.
#
#   run.sh export        the crate gpud-exports: conditions, labels, Events, taint, a restart, an edit; half a minute
#   run.sh daemon GPUD   gpud on a made-up machine: Xids in its kernel log, restarts of both sides, an expired token, 429,
#                        a node that is deleted and replaced, a client certificate; minutes with a debug build
#   run.sh commands GPUD the lines for kubectl in docs/exports-kubernetes.md and deploy/helm, typed as they stand; a minute
#
# The first time it builds the API server and kubectl (apiserver.sh), which takes about ten minutes.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
export PYTHONDONTWRITEBYTECODE=1
what=${1:-export}
for program in openssl python3; do
    command -v "$program" >/dev/null || { echo "NOT RUN: there is no $program" >&2; exit 77; }
done
if [[ $what = daemon || $what = commands ]]; then
    gpud=$(realpath -e -- "${2:-${CARGO_TARGET_DIR:-$here/../../target}/debug/gpud}")
    mock=$(dirname -- "$gpud")/libgpud_nvml_mock.so
    [[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
    mock=$(realpath -e -- "${GPUD_TEST_NVML_MOCK:-$mock}")
fi
tools=$("$here/apiserver.sh")
export PATH="$tools:$PATH"
work=$(mktemp -d)
server=
finish() {
    # It ends when nobody holds its standard input.
    exec 7>&- || true
    [[ -z $server ]] || wait "$server" || true
    rm -rf -- "$work"
}
trap finish EXIT
case $what in
daemon) timeout --kill-after=10 600 python3 "$here/check.py" "$gpud" "$mock" "$work" ;;
commands) timeout --kill-after=10 300 python3 "$here/commands.py" "$gpud" "$mock" "$work" ;;
export)
    mkfifo "$work/input" "$work/output"
    python3 "$here/server.py" "$work" <"$work/input" >"$work/output" 2>"$work/server.log" &
    server=$!
    exec 7>"$work/input"
    if ! read -r -t 150 _ <"$work/output"; then
        tail --lines 20 "$work"/*.log >&2
        exit 1
    fi
    cd "$here/../.."
    GPUD_TEST_KUBERNETES=$work timeout --kill-after=10 900 \
        tests/real.sh kubernetes:: 7>&-
    ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 1
    ;;
esac
