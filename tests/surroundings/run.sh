#!/bin/bash
# Runs gpud where parts of the machine are kept from it: /proc with hidepid=2 and no root, no /dev/kmsg, /proc masked as
# container runtimes do it, cgroups of version 1 or none, files that may not be read, a root folder that is read-only.
#
#   run.sh GPUD [MOCK]      MOCK: the built tests/nvml-mock; beside GPUD unless it is named
#
# Everything is in mount namespaces of its own and ends with them. What cannot be read is named, the rest is judged, and
# nothing fails. Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
gpud=$(realpath -e -- "$1")
mock=${2:-${GPUD_TEST_NVML_MOCK:-$(dirname -- "$gpud")/libgpud_nvml_mock.so}}
[[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}
[[ $(id -u) = 0 ]] || not_run "mounts of its own need root"
for tool in curl python3 setpriv; do
    command -v "$tool" >/dev/null || not_run "there is no $tool"
done
unshare --mount --propagation=private mount -t tmpfs none /mnt 2>/dev/null || not_run "mounts in a namespace are not allowed here"

work=$(mktemp -d /tmp/gpud-surroundings.XXXXXX)
daemon=
finish() {
    [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
    rm -rf --one-file-system -- "$work"
}
trap finish EXIT
# Others run it, too.
chmod 755 "$work"
cp -- "$("$here/with-code.sh" "$gpud")" "$work/gpud"
if [[ -e $mock ]]; then
    cp -- "$mock" "$work/nvml.so"
    # A GPU says that process 1 computes on it.
    printf 'product: h100-sxm\ngpus: 1\nall: {compute_processes: [{pid: 1}]}\n' >"$work/gpu.yaml"
fi
chmod -R a+rX "$work"
chmod a+x "$work/gpud"
install -d -o 65534 -g 65534 "$work/home"

checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; tail -n 20 "$work/errors" >&2 2>/dev/null || :; exit 1; }
}
# within SCRIPT COMMAND…: after a script in a mount namespace of its own.
private=(env -u KMSG_FILE_PATH "work=$work" "PATH=/usr/sbin:/sbin:$PATH" unshare --mount --propagation=private bash -ec)
within() { "${private[@]}" "$1"$'\nexec "$@"' bash "${@:2}"; }
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs env "HOME=$work/home")
# scan SCRIPT COMMAND…: a scan by that command, as a document.
scan() { within "$@" "$work/gpud" scan --json >"$work/scan.json" 2>"$work/errors"; }
# says COMPONENT HEALTH FIELD TEXT: a state of the last scan; the health `-` is of a component that does not apply.
says() { python3 "$here/states.py" "$work/scan.json" "$@"; }
healths() { python3 "$here/states.py" "$1"; }
# Its lines belong to the machine, and are another test's affair.
quiet='mount --bind /dev/null /dev/kmsg 2>/dev/null || :
'

check scan "$quiet"
healths "$work/scan.json" >"$work/plain"

# Without root, the kernel still counts the open files of everybody's processes, since Linux 6.2.
release=$(uname -r | sed 's/^\([0-9]*\)\.\([0-9]*\).*/\1 \2/')
# shellcheck disable=SC2086
if [[ $(printf '%03d%03d' $release) > 006001 ]]; then
    check scan "$quiet" "${nobody[@]}"
    check test -z "$(grep -o 'could not be counted' "$work/scan.json")"
else
    echo "open files of others: NOT RUN, this kernel does not count them" >&2
fi

# hidepid=2, without root: what others run is not to be seen.
hidden='mount -t proc -o hidepid=2 proc /proc'
if within "$hidden" true 2>/dev/null; then
    check scan "$hidden" "${nobody[@]}"
    check says os Healthy error 'processes of other users are neither counted nor judged: /proc hides them'
    check says memory Healthy reason ok
    if [[ -e $work/nvml.so ]]; then
        nvidia=(env "GPUD_NVML_LIBRARY_PATH=$work/nvml.so" "GPUD_NVML_MOCK_SCENARIO=$work/gpu.yaml")
        check scan "$hidden" "${nobody[@]}" "${nvidia[@]}"
        check says accelerator-nvidia-processes Healthy data '"pid":1,'
    else
        echo "processes of GPUs with hidepid: NOT RUN, there is no $mock" >&2
    fi
    # Root sees them.
    check scan "$hidden"
    check says os Healthy error ''
else
    echo "hidepid: NOT RUN, /proc cannot be mounted here" >&2
fi

# No /dev/kmsg, as in most containers.
check scan '
    mkdir "$work/dev"
    mount -t tmpfs none "$work/dev"
    for device in null zero random urandom; do cp -a "/dev/$device" "$work/dev/"; done
    mount --move "$work/dev" /dev'
check says kernel-stalls Degraded reason 'unknown: the kernel log cannot be read (/dev/kmsg: not found)'
check says memory Healthy error 'the kernel log cannot be read'
check says kernel-module Healthy reason ''

# /proc and /sys as runc and crun mask them.
check scan "$quiet"'
    for path in /proc/{asound,acpi,kcore,keys,latency_stats,timer_list,timer_stats,sched_debug,scsi,interrupts} \
        /sys/{firmware,devices/virtual/powercap}; do
        if [ -d "$path" ]; then
            mount -t tmpfs -o ro none "$path"
        elif [ -e "$path" ]; then
            mount --bind /dev/null "$path"
        fi
    done
    for path in /proc/{bus,fs,irq,sys,sysrq-trigger}; do
        [ -e "$path" ] || continue
        mount --bind "$path" "$path"
        mount -o remount,ro,bind "$path"
    done'
check diff "$work/plain" <(healths "$work/scan.json")

# No cgroups, and those of version 1 alone.
groups='mount -t tmpfs none /sys/fs/cgroup'
check scan "$groups"
check says cgroup-oom - reason 'no cgroup with memory accounting'
first="$groups
    mkdir /sys/fs/cgroup/memory
    mount -t cgroup -o memory none /sys/fs/cgroup/memory"
if within "$first" true 2>/dev/null; then
    check scan "$first"
    check says cgroup-oom Healthy reason 'no process was killed'
else
    echo "cgroups of version 1: NOT RUN, this kernel has their memory in version 2" >&2
fi

# Files that may not be read, and no right of root's to read them all the same.
check scan '
    install -m 000 /dev/null "$work/closed"
    for path in /proc/meminfo /proc/loadavg /proc/sys/fs/file-nr /proc/net/dev /etc/os-release; do
        mount --bind "$work/closed" "$path"
    done' "${nobody[@]}"
check says memory Degraded reason 'cannot be judged: /proc/meminfo: permission denied'
check says os Degraded reason 'cannot be judged: /proc/sys/fs/file-nr: permission denied'
check says kernel-module Healthy reason ''

# A root folder of its own, in which nothing can be written. $work/gpud is in it.
closed='
    mkdir -p "$work/root"
    mount --bind / "$work/root"
    mount --bind "$work" "$work/root/$work"
    mount -o remount,ro,bind "$work/root/$work"
    mount -o remount,ro,bind "$work/root"
    cd "$work/root"
    for folder in proc sys dev; do mount --rbind "/$folder" "$folder"; done
    pivot_root . mnt
    umount -l /mnt
    cd /
    if touch /x || touch /tmp/x; then
        exit 1
    fi 2>/dev/null'
check scan "$closed"
check says memory Healthy reason ok
check grep -q 'compiled code cannot be kept in .*Read-only file system' "$work/errors"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# Not by the function: the signal would go to a shell.
"${private[@]}" "$quiet$closed"$'\nexec "$@"' bash "$work/gpud" run --data-dir /var/lib/gpud-none --log-file "" \
    --local-socket /run/gpud-none/gpud.sock --listen-address "127.0.0.1:$port" --plugin-specs-file "" >"$work/errors" 2>&1 &
daemon=$!
# has COMPONENT TEXT: its states say so, within three minutes.
has() {
    for _ in $(seq 360); do
        ! { curl -skf --max-time 10 "https://127.0.0.1:$port/v1/states?components=$1" | grep -q "$2"; } 2>/dev/null || return 0
        kill -0 "$daemon" 2>/dev/null || return 1
        sleep 0.5
    done
    return 1
}
check has memory '"health":"Healthy"'
# What it cannot keep is said where an operator looks.
check has os 'Read-only file system'
check grep -q 'nothing is kept across restarts' "$work/errors"
kill "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
check test "$status" = 0
echo "surroundings: $checks checks passed"
