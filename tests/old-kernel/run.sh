#!/bin/bash
# Runs gpud as on Linux 4.18 (RHEL 8): every system call since then answers ENOSYS (without.py).
#
#   run.sh GPUD
#
# A scan finds the same as without the filter, and a daemon of --user comes up, runs a script and ends. Exit status: 0 passed,
# 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
gpud=$(realpath -e -- "$1")
for tool in python3 curl; do
    command -v "$tool" >/dev/null || { echo "NOT RUN: there is no $tool" >&2; exit 77; }
done
old() { "$here/without.py" "$@"; }
old true || exit $?

work=$(mktemp -d /tmp/gpud-old-kernel.XXXXXX)
daemon=
finish() {
    [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
    rm -rf -- "$work"
}
trap finish EXIT
chmod 755 "$work"
checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; cat "$work/log" >&2 2>/dev/null || :; exit 1; }
}

# Names of checks and what they say, without numbers, which differ from one scan to the next.
scan() {
    local status=0
    "$@" scan --color=never >"$work/scan" 2>&1 || status=$?
    sed 's/[0-9.]*//g' "$work/scan" && echo "status $status"
}
scan "$gpud" >"$work/now"
scan old "$gpud" >"$work/then"
check diff "$work/now" "$work/then"

cat >"$work/specs.yaml" <<'END'
- plugin_name: script
  plugin_type: component
  run_mode: auto
  timeout: 30s
  interval: 10m
  health_state_plugin:
    steps:
      - name: step
        run_bash_script:
          content_type: plaintext
          script: echo "it $(echo runs | cat)"
END
chmod 644 "$work/specs.yaml"
as=()
[[ $(id -u) != 0 ]] || as=(--user=nobody)
socket=$work/gpud.sock
"$here/without.py" "$gpud" run "${as[@]}" --data-dir "$work/data" --local-socket "$socket" --listen-address 127.0.0.1:0 \
    --log-level info --log-file "" --plugin-specs-file "$work/specs.yaml" >"$work/log" 2>&1 &
daemon=$!
ask() { curl -sf --max-time 10 --unix-socket "$socket" "http://localhost$1"; }
# has COMPONENT TEXT: its states say so, within a minute.
has() {
    for _ in $(seq 120); do
        ! { ask "/v1/states?components=$1" | grep -q "$2"; } 2>/dev/null || return 0
        kill -0 "$daemon" 2>/dev/null || return 1
        sleep 0.5
    done
    return 1
}
check has script 'it runs'
check has memory '"health":"Healthy"'
check test -z "$(grep -i 'not implemented\|os error 38' "$work/log")"
kill "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
check test "$status" = 0
echo "old kernel: $checks checks passed"
