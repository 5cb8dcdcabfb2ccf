#!/bin/bash
# Tests what deploy/install.sh does with the service, in a small Debian of its own (tests/packages/chroot.sh) with made-up
# releases and a stand-in for systemctl: start, upgrade, the way back when a new version does not come up, removal.
#
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
[[ $(id -u) = 0 ]] || { echo "NOT RUN: a chroot needs root" >&2; exit 77; }
template=$("$here/../packages/chroot.sh")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
root=$work/root
cp -a -- "$template" "$root"
mkdir -p "$root/run/systemd/system" "$root/release"
printf '#!/bin/sh\n' >"$root/usr/bin/systemctl"
chmod +x "$root/usr/bin/systemctl"
cp -- "$here/../../deploy/install.sh" "$root/release/"
target=$(uname -m)-unknown-linux-gnu

checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; cat "$work/output" >&2; exit 1; }
}
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot "$root" "$@"; }
install_gpud() { inside timeout 120 sh /release/install.sh "$@" >"$work/output" 2>&1; }
fails() { ! "$@"; }
version() { inside /usr/local/bin/gpud --version; }
# What the gpud in place was asked to do, one call a line.
calls() { cat "$root/calls" 2>/dev/null || :; rm -f -- "$root/calls"; }

# release VERSION STATUS: one whose `gpud up` ends with this status.
release() {
    local name=gpud-$1-$target
    local files=$work/made/$name
    mkdir -p -- "$files"/{man/man1,completions,systemd}
    cat >"$files/gpud" <<END
#!/bin/sh
case \$1 in
--version) echo "gpud version $1" ;;
*) echo "$1 \$*" >>/calls; [ "\$1" != up ] || exit $2 ;;
esac
END
    for file in man/man1/gpud.1 completions/{gpud.bash,_gpud,gpud.fish} LICENSE THIRD-PARTY.txt sbom.cdx.json systemd/gpud.default; do
        echo "$file" >"$files/$file"
    done
    cp -- "$here/../../deploy/install.sh" "$files/"
    chmod +x "$files/gpud"
    tar -czf "$root/release/$name.tar.gz" -C "$work/made" "$name"
    (cd "$root/release" && sha256sum gpud-*.tar.gz >SHA256SUMS)
}

release 0.1.0 0
check install_gpud
check test "$(calls)" = "0.1.0 up"
release 0.2.0 0
check install_gpud
check test "$(calls)" = "0.2.0 up"
check install_gpud --no-start
check test "$(calls)" = ""

# One that does not come up: the one before is back, and started.
# It takes the state file from before, if it has to; a link in a folder of another user leads nowhere.
release 0.3.0 1
mkdir -p "$root/var/lib/gpud"
ln -s /outside "$root/var/lib/gpud/gpud.state.restore"
check fails install_gpud
check test ! -e "$root/outside"
check test "$(calls)" = "0.3.0 up
0.2.0 up"
rm -- "$root/var/lib/gpud/gpud.state.restore"
# Nor is a pipe opened, which would hold the way back up for ever.
mkfifo "$root/var/lib/gpud/gpud.state.restore"
check fails install_gpud
check test "$(calls)" = "0.3.0 up
0.2.0 up"
rm -- "$root/var/lib/gpud/gpud.state.restore"
check fails install_gpud
check test -f "$root/var/lib/gpud/gpud.state.restore"
check grep -q "gpud version 0.2.0 is back" "$work/output"
check test "$(version)" = "gpud version 0.2.0"
check test "$(calls)" = "0.3.0 up
0.2.0 up"

check install_gpud --uninstall
check test "$(calls)" = "0.2.0 down"
check test ! -e "$root/usr/local/bin/gpud"

# Without one before there is nothing to go back to, and the new one stays for a look.
check fails install_gpud
check grep -q "journalctl -u gpud says why" "$work/output"
check test "$(version)" = "gpud version 0.3.0"
echo "install.sh and the service: $checks checks passed"
