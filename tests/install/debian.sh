#!/bin/bash
# Installs a release on an older Debian, as a new user does: install.sh of the folder of `cargo xtask dist`, then a scan.
#
#   debian.sh FOLDER [RELEASE]     RELEASE of Debian: bullseye (glibc 2.31) unless another is named
#
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
dist=$(realpath -e -- "$1")
release=${2:-bullseye}
[[ $(id -u) = 0 ]] || { echo "NOT RUN: a chroot needs root" >&2; exit 77; }
[[ -e $(echo "$dist"/gpud-*-"$(uname -m)"-unknown-linux-gnu.tar.gz) ]] || { echo "no archive for this machine in $dist" >&2; exit 1; }
template=$("$here/../packages/chroot.sh" "$release")
work=$(mktemp -d)
mounted=
finish() {
    [[ -z $mounted ]] || umount -l "$root/proc" || true
    rm -rf --one-file-system -- "$work"
}
trap finish EXIT
root=$work/root
cp -a -- "$template" "$root"
cp -a -- "$dist" "$root/release"
mount -t proc proc "$root/proc" && mounted=yes || { echo "NOT RUN: /proc cannot be mounted" >&2; exit 77; }
inside() { env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root chroot "$root" "$@"; }
checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; cat "$work/output" >&2 2>/dev/null || :; exit 1; }
}
status() { local code=0; "$@" >"$work/output" 2>&1 || code=$?; echo "$code"; }

check test "$(status inside sh /release/install.sh)" = 0
check grep -q 'gpud version .* is installed' "$work/output"
check test "$(status inside gpud --version)" = 0
# A verdict: healthy or not is the machine's affair.
check test "$(status inside gpud scan --color=never)" = 0
check grep -qE '^(Healthy|Degraded|Unhealthy)|: *(Healthy|Degraded|Unhealthy)' "$work/output"
tail -n 1 "$work/output"
check test "$(status inside sh /usr/local/share/gpud/install.sh --uninstall --purge)" = 0
check test ! -e "$root/usr/local/bin/gpud"
check test ! -e "$root/var/lib/gpud"

# What was changed after it was made installs nothing.
archive=$(echo "$root"/release/gpud-*-"$(uname -m)"-unknown-linux-gnu.tar.gz)
printf x >>"$archive"
check test "$(status inside sh /release/install.sh)" = 1
check grep -q 'does not have the checksum' "$work/output"
check test ! -e "$root/usr/local/bin/gpud"
echo "Debian $release: $checks checks passed"
