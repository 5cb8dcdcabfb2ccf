#!/bin/bash
# Runs the Arm release of a folder of `cargo xtask dist` on this machine, under qemu-user with a C library of Debian: it starts, scans,
# and a daemon answers and ends.
#
#   arm.sh FOLDER
#
# qemu-aarch64-static is that of PATH or GPUD_TEST_TOOLS; without one, `tests/tools.sh FOLDER arm` fetches it. Exit status:
# 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
dist=$(realpath -e -- "$1")
not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}
export PATH="${GPUD_TEST_TOOLS:-$PATH}"
if ! command -v qemu-aarch64-static >/dev/null; then
    tools=$("$here/../tools.sh" "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}/tools" arm) || not_run "qemu-user cannot be fetched"
    export PATH=$tools
fi
for tool in qemu-aarch64-static curl; do
    command -v "$tool" >/dev/null || not_run "there is no $tool"
done
archive=$(echo "$dist"/gpud-*-aarch64-unknown-linux-gnu.tar.gz)
[[ -e $archive ]] || { echo "no archive for aarch64 in $dist" >&2; exit 1; }
debian=$("$here/../packages/chroot.sh" bookworm arm64)
[[ $(id -u) = 0 ]] || not_run "chroot needs root"
# What is mounted ends with this script.
[[ -n ${GPUD_ARM_MOUNTS:-} ]] || GPUD_ARM_MOUNTS=1 exec unshare --mount -- "$0" "$dist"
work=$(mktemp -d)
daemon=
finish() {
    [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
    umount -R -l "$work" 2>/dev/null || true
    rm -rf --one-file-system -- "$work"
}
trap finish EXIT
# A machine of its own: qemu would look for each file below its folder of libraries first, `/` included.
mount -t tmpfs tmpfs "$work"
root=$work/root
mkdir "$root" "$work"/{upper,work}
mount -t overlay overlay -o "lowerdir=$debian,upperdir=$work/upper,workdir=$work/work" "$root" || not_run "no overlay can be mounted"
# debootstrap leaves a link there where it could not mount.
[[ ! -L $root/proc ]] || rm -- "$root/proc"
mkdir -p "$root"/{proc,sys,dev,run,opt}
for folder in proc sys dev; do
    mount --rbind "/$folder" "$root/$folder"
done
tar -xzf "$archive" -C "$root/opt" --strip-components=1
cp -- "$(command -v qemu-aarch64-static)" "$root/opt/"
checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; cat "$work/output" "$work/log" >&2 2>/dev/null || :; exit 1; }
}
gpud=(chroot "$root" /opt/qemu-aarch64-static /opt/gpud)
status() { local code=0; "$@" >"$work/output" 2>&1 || code=$?; echo "$code"; }

check test "$(status "${gpud[@]}" --version)" = 0
# qemu-user has neither a kernel log nor the machine's programs for scripts, which `scan` may call troubles; that it ran is what
# is asked here, and that the compiled checks of the archive fit: nothing was compiled.
check test "$(status "${gpud[@]}" scan --color=never)" -le 1
check grep -q '^[A-Z]' <(tail -n 2 "$work/output")
check test -z "$(grep -i 'compil\|could not be loaded' "$work/output")"
tail -n 1 "$work/output"
socket=$root/run/gpud.sock
"${gpud[@]}" run --data-dir /var/lib/gpud --local-socket /run/gpud.sock --listen-address 127.0.0.1:0 --log-level info \
    --plugin-specs-file "" >"$work/log" 2>&1 &
daemon=$!
ask() { curl -sf --max-time 30 --unix-socket "$socket" "http://localhost$1"; }
# has COMPONENT TEXT: its states say so, within two minutes.
has() {
    for _ in $(seq 120); do
        ! { ask "/v1/states?components=$1" | grep -q "$2"; } 2>/dev/null || return 0
        kill -0 "$daemon" 2>/dev/null || return 1
        sleep 1
    done
    return 1
}
check has memory '"health":"Healthy"'
check has os '"name":"os"'
check test -z "$(grep -i 'compil\|could not be loaded' "$work/log")"
kill "$daemon"
code=0
wait "$daemon" || code=$?
daemon=
check test "$code" = 0
echo "Arm: $checks checks passed"
