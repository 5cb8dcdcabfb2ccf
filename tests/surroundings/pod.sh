#!/bin/bash
# Runs gpud as the pods of deploy/helm/gpud run it: as root in a root folder and mounts of its own, with the processes of the
# machine, and without one capability of the chart after the other. The table of the chart's README says what is lost.
#
#   pod.sh GPUD
#
# Everything is in namespaces of its own and ends with them. Exit status: 0 passed, 1 failed, 77 could not be run here (the
# reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
gpud=$("$here/with-code.sh" "$(realpath -e -- "$1")")
not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}
[[ $(id -u) = 0 ]] || not_run "namespaces of its own need root"
for tool in python3 setpriv; do
    command -v "$tool" >/dev/null || not_run "there is no $tool"
done
machine=(unshare --mount --propagation=private --pid --fork --kill-child --mount-proc)
"${machine[@]}" mount -t tmpfs none /mnt 2>/dev/null || not_run "namespaces are not allowed here"
work=$(mktemp -d /tmp/gpud-pod.XXXXXX)
trap 'rm -rf --one-file-system -- "$work"' EXIT
mkdir "$work/root"

# Process 1 is the machine; what it starts has the mounts of a container. The folders of programs stay, since tests need some.
cat >"$work/pod.sh" <<'END'
set -eu
root=$1 host=$2
shift 2
mount -t tmpfs none "$root"
mkdir -p "$root"/{proc,sys,dev,usr,etc,tmp,old,host,gpud,var/lib/gpud}
for folder in bin sbin lib lib32 lib64; do
    if [ -L "/$folder" ]; then
        cp -a "/$folder" "$root/"
    elif [ -d "/$folder" ]; then
        mkdir "$root/$folder"
        mount --rbind "/$folder" "$root/$folder"
    fi
done
for folder in proc sys dev usr etc; do mount --rbind "/$folder" "$root/$folder"; done
mount --bind "$GPUD_FOLDER" "$root/gpud"
[ -z "$host" ] || mount --rbind / "$root/host"
cd "$root"
pivot_root . old
umount -l /old
cd /
exec "$@"
END
checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; tail -n 20 "$work/errors" >&2 2>/dev/null || :; exit 1; }
}
# scan CAPABILITIES [HOST]: a scan with these capabilities and no others; HOST: with the machine's / at /host.
scan() {
    local host=${2:-}
    env -u KMSG_FILE_PATH -u GPUD_HOST_ROOT GPUD_FOLDER="$(dirname -- "$gpud")" PATH="/usr/sbin:/sbin:$PATH" \
        ${host:+GPUD_HOST_ROOT=/host} "${machine[@]}" bash -ec 'unshare --mount --propagation=private bash "$@"; exit 0' bash \
        "$work/pod.sh" "$work/root" "$host" setpriv --bounding-set="-all$1" --no-new-privs "/gpud/$(basename -- "$gpud")" \
        scan --json >"$work/scan.json" 2>"$work/errors"
}
says() { python3 "$here/states.py" "$work/scan.json" "$@"; }
lacks() { ! grep -oF -- "$1" "$work/scan.json" "$work/errors"; }
hidden='is not visible from here'

check scan ,+syslog,+dac_read_search,+sys_ptrace
check says os Healthy error ''
check lacks "$hidden"
check lacks '/dev/kmsg: permission denied'

# Without SYSLOG: the kernel log, where kernel.dmesg_restrict says so.
if [[ -c /dev/kmsg && $(cat /proc/sys/kernel/dmesg_restrict) = 1 ]]; then
    check scan ,+dac_read_search,+sys_ptrace
    check says kernel-stalls Degraded reason 'the kernel log cannot be read (/dev/kmsg: permission denied)'
    check lacks "$hidden"
else
    echo "without SYSLOG: NOT RUN, there is no /dev/kmsg, or everybody may read it (kernel.dmesg_restrict is 0)" >&2
fi

# Without SYS_PTRACE: the mounts of the machine, unless its / is mounted.
check scan ,+syslog,+dac_read_search
check says inodes Degraded reason "$hidden"
check says disk Degraded reason "$hidden"
check scan ,+syslog,+dac_read_search host
check lacks "$hidden"

# Without DAC_READ_SEARCH: open files of processes of other users, where the kernel is older than 6.2.
check scan ,+syslog,+sys_ptrace
check lacks "$hidden"
check says kernel-module Healthy reason ''
echo "pod: $checks checks passed"
