#!/bin/bash
# Makes a small Debian with rpm in the folder of test tools, once for each release and architecture of Debian.
#
#   chroot.sh [RELEASE [ARCHITECTURE]]      prints its folder; nobody changes it, tests copy it
#
# The release is bookworm unless another is named. Of another architecture than this machine's the packages are unpacked and
# not configured, which is enough for programs under qemu-user.
# GPUD_TEST_TOOLS_CACHE names another folder than ~/.cache/gpud-test-tools, GPUD_TEST_DEBIAN_MIRROR another mirror. An exit
# status of 77 says that it cannot be had here, and a line on stderr says why.
set -euo pipefail

release=${1:-bookworm}
case $(uname -m) in
x86_64) own=amd64 ;;
aarch64) own=arm64 ;;
*) own=$(uname -m) ;;
esac
architecture=${2:-$own}
name=debian-$release
how=(--include=rpm,cpio)
if [[ $architecture != "$own" ]]; then
    name+=-$architecture
    how=(--foreign --arch="$architecture")
fi
# Releases that are no longer supported move to the archive.
mirrors=(${GPUD_TEST_DEBIAN_MIRROR:-http://deb.debian.org/debian http://archive.debian.org/debian})
cache=$(realpath -m -- "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}")

not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}

root=$cache/$name
mkdir -p -- "$cache"
exec 9>"$cache/.debian.lock"
flock 9
if [[ ! -e $root ]]; then
    [[ $(id -u) = 0 ]] || not_run "debootstrap needs root"
    for tool in apt-get dpkg-deb; do
        command -v "$tool" >/dev/null || not_run "debootstrap comes from Debian, and there is no $tool"
    done
    work=$(mktemp -d -p "$cache")
    trap 'rm -rf -- "$work"' EXIT
    (
        cd "$work"
        apt-get download debootstrap >&2 || { apt-get update >&2 && apt-get download debootstrap >&2; }
        dpkg-deb --extract debootstrap_*.deb tool
    ) || not_run "Debian's debootstrap cannot be fetched"
    export DEBOOTSTRAP_DIR=$work/tool/usr/share/debootstrap
    for mirror in "${mirrors[@]}"; do
        rm -rf --one-file-system -- "$work/root"
        ! "$work/tool/usr/sbin/debootstrap" --variant=minbase "${how[@]}" "$release" "$work/root" "$mirror" >&2 || break
        mirror=
    done
    [[ -n $mirror ]] || not_run "debootstrap fails; the lines above say why"
    rm -rf -- "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/*
    mv -- "$work/root" "$root"
fi
echo "$root"
