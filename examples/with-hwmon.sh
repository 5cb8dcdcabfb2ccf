#!/bin/sh
# Runs a command on a machine with made-up hardware sensors: with-hwmon.sh FILE=CONTENT… -- COMMAND…
#
#   sudo examples/with-hwmon.sh hwmon0/name=nvme hwmon0/temp1_input=45500 -- gpud cs spec.yaml -r
#
# The command, and nothing else, sees the files below /sys/class/hwmon: it runs in a mount namespace of its own, in
# which a file system in memory lies over /sys/class. Needs root.
set -eu
if [ "${GPUD_HWMON_INSIDE:-}" != yes ]; then
    GPUD_HWMON_INSIDE=yes exec unshare --mount --propagation private -- "$0" "$@"
fi
mount -t tmpfs -o size=1m,mode=755 made-up /sys/class
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    file=/sys/class/hwmon/${1%%=*}
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "${1#*=}" >"$file"
    shift
done
shift
exec "$@"
