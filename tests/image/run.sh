#!/bin/bash
# Pushes the image to a real registry, pulls it back, and runs it as a container engine would: in a root folder of its own,
# as its user, with a /proc of its own, until its health check is satisfied.
#
#   run.sh FOLDER    of `cargo xtask dist --image`
#   run.sh GPUD      makes an image of this binary first
#
# The registry is Debian's docker-registry (PATH or GPUD_TEST_TOOLS). Exit status: 0 passed, 1 failed, 77 could not be run
# here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
what=$(realpath -e -- "$1")
not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}
[[ $(id -u) = 0 ]] || not_run "a root folder of its own needs root"
export PATH="${GPUD_TEST_TOOLS:-$PATH}"
command -v docker-registry >/dev/null || not_run "there is no docker-registry (Debian: docker-registry)"
command -v python3 >/dev/null || not_run "there is no python3"
unshare --mount --pid --fork --mount-proc true 2>/dev/null || not_run "namespaces of its own are not allowed here"
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) not_run "there are no images for $(uname -m)" ;;
esac
work=$(mktemp -d)
registry=
finish() {
    [[ -z $registry ]] || kill "$registry" 2>/dev/null || true
    rm -rf --one-file-system -- "$work"
}
trap finish EXIT

dist=$what
if [[ ! -d $what ]]; then
    strip -o "$work/gpud" "$what" 2>/dev/null || cp -- "$what" "$work/gpud"
    tail -c 16 "$what" | grep -q '^gpud-builtins-[0-9]*$' && cp -- "$what" "$work/gpud"
    dist=$work/dist
    (cd "$here/../.." && "${CARGO:-cargo}" xtask dist --binary "$work/gpud" --any-glibc --image --output "$dist") >&2
fi
image=$(echo "$dist"/gpud-*-"$architecture".oci.tar)
[[ -e $image ]] || { echo "no image for this machine in $dist" >&2; exit 1; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
port=$(free_port)
cat >"$work/registry.yaml" <<END
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $work/registry}}
http: {addr: "127.0.0.1:$port"}
END
docker-registry serve "$work/registry.yaml" >"$work/registry.log" 2>&1 &
registry=$!
for _ in $(seq 100); do
    python3 - "$port" 2>/dev/null <<'END' && break
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/v2/", timeout=2)
END
    kill -0 "$registry" || { cat "$work/registry.log" >&2; exit 1; }
    sleep 0.1
done

repository=http://127.0.0.1:$port/health/gpud
python3 "$here/registry.py" push "$image" "$repository" test
python3 "$here/registry.py" pull "$repository" test "$work/root" >"$work/config.json"
field() { python3 -c 'import json, sys; print(eval("c" + sys.argv[2], {"c": json.load(open(sys.argv[1]))}))' "$work/config.json" "$1"; }

user=$(field '["config"]["User"]')
[[ $user = 65532:65532 ]] || { echo "the image runs as $user" >&2; exit 1; }
[[ $(stat -c '%u %a' "$work/root/var/lib/gpud") = "65532 700" ]] || { echo "the data folder is not gpud's" >&2; exit 1; }
readarray -t health < <(field '["config"]["Healthcheck"]["Test"]' | python3 -c 'import sys; print("\n".join(eval(sys.stdin.read())[1:]))')
readarray -t start < <(field '["config"]["Entrypoint"] + c["config"]["Cmd"]' | python3 -c 'import sys; print("\n".join(eval(sys.stdin.read())))')

# The processes of the container end with the first, and its mounts with them.
cat >"$work/container.sh" <<'END'
set -eu
root=$1 user=$2 port=$3
shift 3
mount -t proc proc "$root/proc"
run() { env -i PATH=/usr/sbin:/usr/bin chroot --userspec="$user" "$root" "$@"; }
run /usr/bin/gpud --version
count=$1
shift
health=
i=0
while [ "$i" -lt "$count" ]; do
    health="$health $1"
    shift
    i=$((i + 1))
done
# Not by the function: the signal would go to a shell.
env -i PATH=/usr/sbin:/usr/bin chroot --userspec="$user" "$root" "$@" "--listen-address=127.0.0.1:$port" \
    >"$root/../daemon.log" 2>&1 &
daemon=$!
# An engine asks again and again, too.
tries=60
# shellcheck disable=SC2086
until run $health >"$root/../health.log" 2>&1; do
    tries=$((tries - 1))
    if [ "$tries" = 0 ] || ! kill -0 "$daemon"; then
        cat "$root/../health.log" "$root/../daemon.log" >&2
        exit 1
    fi
    sleep 1
done
kill "$daemon"
wait "$daemon"
END
mkdir "$work/root/proc" "$work/root/dev"
timeout --kill-after=10 300 unshare --mount --pid --fork --kill-child sh "$work/container.sh" \
    "$work/root" "$user" "$(free_port)" "${#health[@]}" "${health[@]}" "${start[@]}"
echo "image: pushed, pulled back, run as $user, and healthy"
