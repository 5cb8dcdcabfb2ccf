#!/bin/bash
# Tests deploy/install.sh below a folder of its own, with made-up releases: install, upgrade, downgrade, removal, and what
# is refused. With minisign (PATH or GPUD_TEST_TOOLS) signatures are tested too.
#
# Exit status: 0 passed, 1 failed.
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
export PATH="${GPUD_TEST_TOOLS:-$PATH}"
script=$here/../../deploy/install.sh
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
root=$work/root
mkdir -- "$root"
case $(uname -m) in
x86_64) target=x86_64-unknown-linux-gnu ;;
aarch64) target=aarch64-unknown-linux-gnu ;;
*) echo "NOT RUN: there are no releases for $(uname -m)" >&2; exit 77 ;;
esac

# The script looks programs up in the system's folders only. A copy of it finds those of these tests as well.
# with_tools FOLDERS: writes that copy.
tools_script=$work/with-tools.sh
with_tools() { sed "s|^PATH=|PATH=$1:|" "$script" >"$tools_script"; }

checks=0
check() {
    checks=$((checks + 1))
    "$@" || { echo "FAILED (line ${BASH_LINENO[0]}): $*" >&2; exit 1; }
}
absent() { [[ ! -e $1 && ! -L $1 ]]; }
# says TEXT COMMAND…: the command fails, and its message has the text.
says() {
    local text=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "no failure: $*" >&2
        return 1
    fi
    [[ $output = *"$text"* ]] || { printf 'no "%s" in: %s\n' "$text" "$output" >&2; return 1; }
}

# release FOLDER VERSION [EXTRA PAGE]: adds a release whose gpud prints its version.
release() {
    local name=gpud-$2-$target
    local files=$work/made/$name
    rm -rf -- "$files"
    mkdir -p -- "$1" "$files"/{man/man1,completions,systemd}
    printf '#!/bin/sh\necho "gpud version %s (contract gpud:plugin@0.1.0)"\n' "$2" >"$files/gpud"
    cp -- "$script" "$files/install.sh"
    chmod +x "$files/gpud" "$files/install.sh"
    for page in gpud.1 ${3:-}; do echo page >"$files/man/man1/$page"; done
    for file in completions/{gpud.bash,_gpud,gpud.fish} LICENSE THIRD-PARTY.txt sbom.cdx.json; do
        echo "$file" >"$files/$file"
    done
    cp -- "$here/../../deploy/systemd/gpud.default" "$files/systemd/"
    tar -czf "$1/$name.tar.gz" -C "$work/made" "$name"
    (cd "$1" && sha256sum gpud-*.tar.gz >SHA256SUMS)
}
install_gpud() { sh "$script" --root "$root" "$@" >"$work/output" 2>&1 || { cat "$work/output" >&2; return 1; }; }
version() { "$root/usr/local/bin/gpud" --version | cut -d ' ' -f 1-3; }

one=$work/one
release "$one" 0.1.0 gpud-old.1
check install_gpud --from "$one"
check test "$(version)" = "gpud version 0.1.0"
check test -e "$root/etc/default/gpud"
check test -e "$root/usr/local/share/man/man1/gpud-old.1"

# An upgrade takes the latest by number, leaves settings, and removes files of the version before.
release "$one" 0.9.0
release "$one" 0.10.0
echo 'FLAGS="mine"' >"$root/etc/default/gpud"
check install_gpud --from "$one"
check test "$(version)" = "gpud version 0.10.0"
check grep -q mine "$root/etc/default/gpud"
check absent "$root/usr/local/share/man/man1/gpud-old.1"
check grep -q "gpud version 0.1.0" "$root/usr/local/share/gpud/gpud.before"
check test -z "$(find "$root" -name '*.new.*')"

# Another version when it is named, and the folder of the script by default.
check install_gpud --from "$one" --version 0.9.0
check test "$(version)" = "gpud version 0.9.0"
cp -- "$script" "$one/install.sh"
# Not an earlier one by itself: who can take newer files away brings old faults back.
release "$work/earlier" 0.1.0
check says "gpud 0.9.0 is installed, and the latest of $work/earlier is 0.1.0" install_gpud --from "$work/earlier"
check test "$(version)" = "gpud version 0.9.0"
# A release is later than what was given out before it to be tried.
release "$work/tried" 0.9.0-rc1
check says "gpud 0.9.0 is installed, and the latest of $work/tried is 0.9.0-rc1" install_gpud --from "$work/tried"
release "$work/tried" 0.9.0
check install_gpud --from "$work/tried"
check test "$(version)" = "gpud version 0.9.0"
check sh "$one/install.sh" --root "$root" --version 0.1.0 >/dev/null
check test "$(version)" = "gpud version 0.1.0"

# What is refused changes nothing.
check says "it has: 0.1.0 0.9.0 0.10.0" sh "$script" --root "$root" --from "$one" --version 7
check says "no SHA256SUMS" sh "$script" --root "$root" --from "$work"
check says "needs a value" sh "$script" --from
check says "unknown argument" sh "$script" --frm x
check says "--purge is for --uninstall" sh "$script" --purge
cp -r -- "$one" "$work/damaged"
printf x >>"$work/damaged/gpud-0.10.0-$target.tar.gz"
check says "does not have the checksum" sh "$script" --root "$root" --from "$work/damaged"
rm -- "$work/damaged/gpud-0.10.0-$target.tar.gz"
check says "not in $work/damaged" sh "$script" --root "$root" --from "$work/damaged"
# One that does not start here.
release "$work/broken" 0.2.0
printf '#!/none\n' >"$work/made/gpud-0.2.0-$target/gpud"
tar -czf "$work/broken/gpud-0.2.0-$target.tar.gz" -C "$work/made" "gpud-0.2.0-$target"
(cd "$work/broken" && sha256sum gpud-*.tar.gz >SHA256SUMS)
check says "does not start on this machine" sh "$script" --root "$root" --from "$work/broken"
check test "$(version)" = "gpud version 0.1.0"

# Root with the environment of another user: nothing of it is run, read or used as a place for files. The work folder is
# one that the release's own program sees.
foreign=$work/foreign
mkdir -p -- "$foreign"/{home,bin,tmp} "$work/web"
for program in id uname cp mktemp tar sed sha256sum curl wget; do
    printf '#!/bin/sh\ntouch "%s/ran-%s"\nexit 1\n' "$foreign" "$program" >"$foreign/bin/$program"
    chmod +x "$foreign/bin/$program"
done
echo "touch '$foreign/ran-env'" >"$foreign/env"
printf 'dump-header = "%s/curlrc-was-read"\n' "$foreign" >"$foreign/home/.curlrc"
printf 'output_document = %s/wgetrc-was-read\nlogfile = %s/wgetrc-log\n' "$foreign" "$foreign" >"$foreign/home/.wgetrc"
# shellcheck disable=SC2016
foreign_install() {
    env HOME="$foreign/home" CURL_HOME="$foreign/home" WGETRC="$foreign/home/.wgetrc" TMPDIR="$foreign/tmp" \
        PATH="$foreign/bin:$PATH" ENV="$foreign/env" BASH_ENV="$foreign/env" CDPATH=/tmp \
        TAR_OPTIONS="--checkpoint=1 --checkpoint-action=exec=touch\\ $foreign/ran-checkpoint" \
        'BASH_FUNC_mktemp%%=() { touch "$HOME/../ran-function"; command mktemp "$@"; }' \
        /bin/sh "$1" --root "$root" "${@:2}" >"$work/output" 2>&1 || { cat "$work/output" >&2; return 1; }
}
release "$work/web" 0.11.0
# Where sh is bash, it takes functions from the environment. None is called, whatever its name.
mkdir -- "$work/shell"
ln -s -- "$(command -v bash)" "$work/shell/sh"
functions=()
# The made-up gpud is a script that calls echo.
for name in $(compgen -b | grep -vx echo) cat chmod cp curl cut dirname getconf grep id ldd minisign mkdir mktemp mv rm sed \
    sha256sum sort systemctl tail tar tr uname wget; do
    functions+=("BASH_FUNC_$name%%=() { : >'$foreign/ran-function-$name'; }")
done
release "$work/functions" 0.10.5
install_with_functions() {
    env SHELLOPTS=allexport:noclobber:noglob:verbose BASHOPTS=failglob:nocasematch "${functions[@]}" \
        "$work/shell/sh" "$script" --root "$root" --from "$work/functions" >"$work/output" 2>&1 ||
        { cat "$work/output" >&2; return 1; }
}
check install_with_functions
check test -z "$(find "$foreign" -maxdepth 1 -name 'ran-function*')"
check test "$(version)" = "gpud version 0.10.5"
# Those of packages: what they begin with leaves no function that they could call.
functions=()
for name in command echo grep install rm systemctl umask; do
    functions+=("BASH_FUNC_$name%%=() { : >'$foreign/ran-function-$name'; }")
done
for scriptlet in "$here"/../../deploy/packages/{deb,rpm}/*; do
    { sed '/^umask/q' "$scriptlet"; echo 'set'; } >"$work/scriptlet"
    env "${functions[@]}" "$work/shell/sh" "$work/scriptlet" none >"$work/output"
    check test -z "$(grep -F ran-function "$work/output" | grep -v BASH_FUNC)"
done
check test -z "$(find "$foreign" -maxdepth 1 -name 'ran-function*')"
# No variable stays that a program could know: systemctl runs what one says, and another has it do nothing.
for cleaned in "$script" "$here"/../../deploy/packages/{deb,rpm}/*; do
    { sed '/^umask/q' "$cleaned"; echo 'env'; } >"$work/scriptlet"
    for shell in sh "$work/shell/sh"; do
        env SYSTEMCTL_FORCE_BUS=1 DBUS_SYSTEM_BUS_ADDRESS=unixexec:path=/none SYSTEMD_OFFLINE=1 $'LINES=\nexport PATH=/none' \
            "$shell" "$work/scriptlet" none >"$work/output"
        check grep -q '^PATH=/usr/sbin:' "$work/output"
        check test -z "$(grep -E '^(SYSTEM|DBUS|LINES)' "$work/output")"
    done
done
# This one notes where it was unpacked, and the rights of the work folder.
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$0 $(stat -c %%a "${0%%/*/*}")" >"%s/seen"\necho "gpud version 0.11.0"\n' "$work" \
    >"$work/made/gpud-0.11.0-$target/gpud"
tar -czf "$work/web/gpud-0.11.0-$target.tar.gz" -C "$work/made" "gpud-0.11.0-$target"
(cd "$work/web" && sha256sum gpud-*.tar.gz >SHA256SUMS)
check foreign_install "$script" --from "$work/web"
seen=$(cat "$work/seen")
check test "${seen#/var/tmp/gpud-install.}" != "$seen" -o "${seen#/tmp/gpud-install.}" != "$seen"
check test "${seen##* }" = 700
check test -z "$(find "$foreign/tmp" -mindepth 1)"
check test -z "$(find "$foreign" -maxdepth 1 -name 'ran-*')"
check absent "${seen% *}"
# Over HTTP the settings of curl and wget in a foreign home count for nothing.
if command -v python3 >/dev/null && command -v curl >/dev/null; then
    python3 -u -m http.server --bind 127.0.0.1 --directory "$work/web" 0 >"$work/http" 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null || :; rm -rf -- "$work"' EXIT
    until grep -q 'port [0-9]' "$work/http"; do
        kill -0 "$server" || { cat "$work/http" >&2; exit 1; }
        sleep 0.05
    done
    port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$work/http")
    check foreign_install "$script" --from "http://127.0.0.1:$port"
    # A script that finds no curl takes wget.
    if command -v wget >/dev/null; then
        sed 's/command -v curl/command -v no-such-curl/' "$script" >"$work/wget.sh"
        check foreign_install "$work/wget.sh" --from "http://127.0.0.1:$port"
    fi
    kill "$server"
    check test -z "$(find "$foreign" -maxdepth 1 -name 'ran-*' -o -maxdepth 1 -name '*rc-*')"
else
    echo "foreign settings of curl and wget: NOT RUN, there is no python3 or curl" >&2
fi
check install_gpud --from "$one" --version 0.1.0

# Machines that gpud does not run on, by stand-ins for the programs that tell.
mkdir -- "$work/stand-ins"
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/stand-ins/$1"; chmod +x "$work/stand-ins/$1"; }
with_tools "$work/stand-ins"
other() { sh "$tools_script" --root "$root" --from "$one"; }
# shellcheck disable=SC2016
stand_in uname 'case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac'
check says "no gpud for riscv64" other
rm -- "$work/stand-ins/uname"
stand_in getconf 'echo "glibc 2.17"'
check says "glibc 2.17, gpud needs 2.28" other
stand_in getconf 'exit 1'
stand_in ldd 'echo "musl libc (x86_64)" >&2; exit 1'
check says "musl" other
stand_in getconf 'echo "glibc 2.28"'
check other >/dev/null
rm -r -- "$work/stand-ins"

if command -v minisign >/dev/null; then
    with_tools "$PATH"
    install_signed() { sh "$tools_script" --root "$root" "$@" >/dev/null; }
    minisign -G -W -p "$work/key.pub" -s "$work/key" >/dev/null
    minisign -G -W -p "$work/other.pub" -s "$work/other" >/dev/null
    check says "has no SHA256SUMS.minisig" sh "$tools_script" --root "$root" --from "$one" --public-key "$work/key.pub"
    minisign -S -s "$work/key" -m "$one/SHA256SUMS" >/dev/null
    check install_signed --from "$one" --public-key "$work/key.pub"
    check says "not by the key" sh "$tools_script" --root "$root" --from "$one" --public-key "$work/other.pub"
    echo >>"$one/SHA256SUMS"
    check says "not by the key" sh "$tools_script" --root "$root" --from "$one" --public-key "$work/key.pub"
else
    echo "signatures: NOT RUN, there is no minisign" >&2
fi

# A removal leaves state and settings, and files that are not its own; a purge removes state as well.
mkdir -p "$root/var/lib/gpud"
touch "$root/var/lib/gpud/gpud.state" "$root/usr/local/bin/other"
check sh "$script" --root "$root" --uninstall >/dev/null
check absent "$root/usr/local/bin/gpud"
check absent "$root/usr/local/share/gpud"
check test -e "$root/usr/local/bin/other"
check test -e "$root/var/lib/gpud/gpud.state"
check test -e "$root/etc/default/gpud"
check says "no gpud of this script" sh "$script" --root "$root" --uninstall
check sh "$script" --root "$root" --uninstall --purge >/dev/null
check absent "$root/var/lib/gpud"
check absent "$root/etc/default/gpud"

# Beside a package it does nothing.
mkdir -p "$root/usr/bin"
printf '#!/bin/sh\n' >"$root/usr/bin/gpud"
chmod +x "$root/usr/bin/gpud"
check says "as a package" sh "$script" --root "$root" --from "$one"
check says "as a package" sh "$script" --root "$root" --uninstall

if command -v shellcheck >/dev/null; then
    check shellcheck "$script"
fi
echo "install.sh: $checks checks passed"
