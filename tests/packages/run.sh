#!/bin/bash
# Tests the packages in a small Debian of their own (chroot.sh): install, upgrade, downgrade, removal and purge with dpkg,
# and with rpm what it says about the package and how it installs and removes it.
#
#   run.sh FOLDER    of `cargo xtask dist`
#   run.sh GPUD      makes packages of this binary first, with `cargo xtask dist --binary`
#
# systemctl is a stand-in that writes down how it was called. Exit status: 0 passed, 1 failed, 77 could not be run here (the
# reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
what=$(realpath -e -- "$1")
[[ $(id -u) = 0 ]] || { echo "NOT RUN: a chroot needs root" >&2; exit 77; }
for tool in awk dpkg-deb tar; do
    command -v "$tool" >/dev/null || { echo "NOT RUN: there is no $tool" >&2; exit 77; }
done
case $(uname -m) in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*) echo "NOT RUN: there are no packages for $(uname -m)" >&2; exit 77 ;;
esac
template=$("$here/chroot.sh")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
dist=$what
if [[ ! -d $what ]]; then
    # Without what only a debugger reads, which would take minutes to compress. What is behind the program stays.
    strip -o "$work/gpud" "$what" 2>/dev/null || cp -- "$what" "$work/gpud"
    tail -c 16 "$what" | grep -q '^gpud-builtins-[0-9]*$' && cp -- "$what" "$work/gpud"
    dist=$work/dist
    (cd "$here/../.." && "${CARGO:-cargo}" xtask dist --binary "$work/gpud" --any-glibc --output "$dist") >&2
fi
deb=$(echo "$dist"/gpud_*_"$architecture".deb)
rpm=$(echo "$dist"/gpud-*."$(uname -m)".rpm)
[[ -e $deb && -e $rpm ]] || { echo "no packages for this machine in $dist" >&2; exit 1; }

checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; exit 1; }
}
absent() { [[ ! -e $1 && ! -L $1 ]]; }

root=$work/root
cp -a -- "$template" "$root"
cat >"$root/usr/bin/systemctl" <<'END'
#!/bin/sh
echo "$*" >>/calls
END
chmod +x "$root/usr/bin/systemctl"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
calls() { cat "$root/calls" 2>/dev/null || :; rm -f -- "$root/calls"; }
quiet() { "$@" >"$work/output" 2>&1 || { cat "$work/output" >&2; return 1; }; }

# A later version: the same files, and a line in the settings.
dpkg-deb --raw-extract "$deb" "$work/later"
old=$(sed -n 's/^Version: //p' "$work/later/DEBIAN/control")
sed -i 's/^Version: .*/Version: 999.0-1/' "$work/later/DEBIAN/control"
echo '# new' >>"$work/later/etc/default/gpud"
dpkg-deb --build --root-owner-group -Zgzip -z1 "$work/later" "$root/later.deb" >/dev/null
cp -- "$deb" "$root/first.deb"

# Files are root's, nothing is outside of the places for packages, and two builds of the same files are the same.
check test -z "$(dpkg-deb --fsys-tarfile "$deb" | tar -tv --numeric-owner | awk '$2 != "0/0"')"
check test -z "$(dpkg-deb --contents "$deb" | awk '{print $6}' | grep -vE '^(\./)?(etc|usr)/')"
check test "$(dpkg-deb --field "$deb" Package)" = gpud

# In a chroot without systemd nothing is started.
check quiet inside dpkg --install /first.deb
check test "$(calls)" = "enable gpud.service"
check test "$(inside gpud --version | cut -d' ' -f1-2)" = "gpud version"
check test "$(stat -c %a "$root/var/lib/gpud")" = 700
check grep -q '^ExecStart=/usr/bin/gpud run' "$root/usr/lib/systemd/system/gpud.service"
check inside sh -c 'zcat /usr/share/man/man1/gpud.1.gz | grep -q gpud'
check test -z "$(inside dpkg --verify gpud)"
check test -z "$(inside dpkg --audit)"

# An upgrade on a machine that runs: the daemon is restarted once, after its program was replaced, and state stays.
mkdir -p "$root/run/systemd/system"
echo state >"$root/var/lib/gpud/gpud.state"
echo 'FLAGS="mine"' >"$root/etc/default/gpud"
check quiet inside dpkg --force-confold --install /later.deb
check test "$(calls)" = "daemon-reload
try-restart gpud.service"
check grep -q mine "$root/etc/default/gpud"
check test "$(cat "$root/var/lib/gpud/gpud.state")" = state

# Back again.
check quiet inside dpkg --force-confold --install /first.deb
# shellcheck disable=SC2016
check test "$(inside dpkg-query -W -f '${Version}' gpud)" = "$old"
check test "$(calls)" = "daemon-reload
try-restart gpud.service"
check test "$(cat "$root/var/lib/gpud/gpud.state")" = state

# A removal leaves settings and state, a purge nothing.
touch "$root/var/log/gpud.log"
check quiet inside dpkg --remove gpud
check test "$(calls)" = "stop gpud.service
disable gpud.service
daemon-reload"
check absent "$root/usr/bin/gpud"
check grep -q mine "$root/etc/default/gpud"
check test -e "$root/var/lib/gpud/gpud.state"
mkdir -p "$root/etc/systemd/system"
# shellcheck disable=SC2016
echo 'ExecStart=/usr/bin/gpud run $FLAGS' >"$root/etc/systemd/system/gpud.service"
check quiet inside dpkg --purge gpud
for path in etc/systemd/system/gpud.service etc/default/gpud var/lib/gpud var/cache/gpud var/log/gpud.log usr/share/doc/gpud usr/share/gpud; do
    check absent "$root/$path"
done

# rpm: digests, what it needs, what is in it, its scripts.
calls >/dev/null
cp -- "$rpm" "$root/gpud.rpm"
check inside rpm --checksig --nosignature /gpud.rpm >"$work/output"
check grep -q 'digests OK' "$work/output"
check inside rpm -qp --requires /gpud.rpm >"$work/requires"
check grep -qE '^libc\.so\.6\(GLIBC_2\.[0-9]+\)\(64bit\)$' "$work/requires"
check test "$(inside rpm -qp --configfiles /gpud.rpm)" = /etc/default/gpud
check inside sh -c 'mkdir /unpacked && cd /unpacked && rpm2cpio /gpud.rpm | cpio --quiet -id'
check cmp "$root/unpacked/usr/bin/gpud" <(tar -xzOf "$dist"/gpud-*-"$(uname -m)"-unknown-linux-gnu.tar.gz --wildcards '*/gpud')
check test -x "$root/unpacked/usr/bin/gpud"
check test "$(cd "$root/unpacked" && find . -type f | sort)" = \
    "$(inside rpm -qp --list /gpud.rpm | sed 's/^/./' | while read -r path; do [[ ! -f $root/unpacked/$path ]] || echo "$path"; done | sort)"
for script in post preun postun; do
    check grep -qF "$(tail -n 3 "$here/../../deploy/packages/rpm/$script")" <(inside rpm -qp --scripts /gpud.rpm)
done
# Debian's rpm does not know which libraries Debian has.
check quiet inside rpm --install --nodeps /gpud.rpm
check test "$(calls)" = "preset gpud.service
daemon-reload"
check test -z "$(inside rpm --verify --nodeps gpud)"
check test "$(inside gpud --version | cut -d' ' -f1-2)" = "gpud version"
check quiet inside rpm --upgrade --replacepkgs --nodeps /gpud.rpm
check test -e "$root/usr/bin/gpud"
calls >/dev/null
mkdir -p "$root/var/lib/gpud"
check quiet inside rpm --erase gpud
check test "$(calls)" = "stop gpud.service
disable gpud.service
daemon-reload"
check absent "$root/usr/bin/gpud"
check test -d "$root/var/lib/gpud"

if command -v shellcheck >/dev/null; then
    check shellcheck "$here"/../../deploy/packages/motd "$here"/../../deploy/packages/deb/*
    check shellcheck --shell=sh "$here"/../../deploy/packages/rpm/*
fi
echo "packages: $checks checks passed"
