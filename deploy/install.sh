#!/bin/sh
# Installs, upgrades or removes gpud from a folder of release files. It asks no network, unless --from names a URL.
set -eu

# Root may have the environment of another user (`sudo -E`, `su`). Nothing of it decides which programs run, what they read
# or where files are put. A special built-in command (`unset`, `trap`, `exit`) comes before a function of that name, so it is
# the shell's own. In bash this holds for as long as POSIXLY_CORRECT is set, which bash itself does where it is called sh.
for name in [ cat cd chmod command cp curl cut dd dirname export getconf grep id ldd minisign mkdir mktemp mv printf read rm sed \
    sha256sum shopt sort systemctl tail tar test tr umask uname wget; do
    unset -f "$name" 2>/dev/null || :
done
# SHELLOPTS and BASHOPTS of that environment choose options of a shell that is bash, such as how it reads names of files.
set +afvxC
shopt -u failglob nocaseglob nocasematch nullglob 2>/dev/null || :
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin
HOME=/
LC_ALL=C
export PATH HOME LC_ALL
unset IFS LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT GCONV_PATH LOCPATH
# Programs know more variables than anyone can list (systemctl runs what DBUS_SYSTEM_BUS_ADDRESS says): none stays but these.
for name in $(export -p | sed -n -e 's/^export \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' -e 's/^declare -x \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p'); do
    case $name in
    PATH | HOME | LC_ALL | TERM | *_proxy | *_PROXY) ;;
    # bash lets nobody change these; the last one has it behave as sh.
    BASHOPTS | BASH_VERSINFO | EUID | PPID | SHELLOPTS | UID | POSIXLY_CORRECT) ;;
    *) unset "$name" ;;
    esac
done
umask 022

usage() {
    cat <<'END'
install.sh [OPTIONS]

  --from FOLDER|URL   where the release files are [default: the folder of this script]
  --version VERSION   which version [default: the latest in the folder's SHA256SUMS]
  --public-key FILE   public key of minisign; the signature over SHA256SUMS must be its own
  --no-start          install only; do not set up or restart the service
  --uninstall         stop the service and remove what this script has put there; state stays in /var/lib/gpud
  --purge             with --uninstall: remove state, cache, log and settings too
  --root FOLDER       put everything below this folder, for images and tests; nothing is started
END
}

say() { printf 'install.sh: %s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

from=
version=
key=
root=
start=yes
action=install
purge=no
while [ $# -gt 0 ]; do
    case $1 in
    --from | --version | --public-key | --root)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --from) from=$2 ;;
        --version) version=$2 ;;
        --public-key) key=$2 ;;
        --root) root=${2%/} ;;
        esac
        shift
        ;;
    --no-start) start=no ;;
    --uninstall) action=uninstall ;;
    --purge) purge=yes ;;
    --help | -h)
        usage
        exit 0
        ;;
    *)
        usage >&2
        fail "unknown argument $1"
        ;;
    esac
    shift
done
[ -z "$root" ] || start=no
[ "$purge" = no ] || [ "$action" = uninstall ] || fail "--purge is for --uninstall"
if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
    fail "only root can do this: sudo sh $0"
fi

bin=$root/usr/local/bin
share=$root/usr/local/share
state=$root/var/lib/gpud
# Lists what was installed, one path a line, so that a removal takes nothing else.
manifest=$share/gpud/installed

has_systemd() { [ -z "$root" ] && [ -d /run/systemd/system ] && command -v systemctl >/dev/null 2>&1; }

# Packages bring their own removal and upgrade, and a second gpud beside theirs would take their place in PATH.
refuse_packaged() {
    if [ -x "$root/usr/bin/gpud" ]; then
        fail "gpud is there already as a package (/usr/bin/gpud): upgrade or remove it with apt or dnf"
    fi
}

remove_installed() {
    [ -f "$manifest" ] || return 0
    while IFS= read -r path; do
        case $path in
        /usr/local/*) rm -f -- "$root$path" ;;
        esac
    done <"$manifest"
}

uninstall() {
    refuse_packaged
    if [ ! -f "$manifest" ]; then
        [ "$purge" = yes ] || fail "there is no gpud of this script: $manifest is missing"
    elif has_systemd && [ -x "$bin/gpud" ]; then
        "$bin/gpud" down || fail "the service does not stop: systemctl status gpud"
    fi
    remove_installed
    rm -rf -- "$share/gpud"
    rm -f -- "$root/etc/systemd/system/gpud.service"
    if has_systemd; then
        systemctl daemon-reload || :
    fi
    if [ "$purge" = yes ]; then
        rm -rf -- "$state" "$root/var/cache/gpud"
        rm -f -- "$root/etc/default/gpud" "$root/var/log/gpud.log"
        say "removed, with its state"
    else
        say "removed; its state is in $state, its settings in $root/etc/default/gpud"
    fi
}

detect_target() {
    [ "$(uname -s)" = Linux ] || fail "gpud runs on Linux, not on $(uname -s)"
    case $(uname -m) in
    x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
    *) fail "there is no gpud for $(uname -m): x86_64 or aarch64" ;;
    esac
}

# gpud needs the GNU C library 2.28 or later: RHEL 8, Debian 10, Ubuntu 20.04, Amazon Linux 2023.
check_libc() {
    found=$(getconf GNU_LIBC_VERSION 2>/dev/null) || found=
    if [ -z "$found" ]; then
        # In a pipe, grep would end before the writer.
        text=$(ldd --version 2>&1) || :
        case $text in
        *musl*) fail "this system has musl, gpud needs the GNU C library: use the container image" ;;
        esac
        say "the version of the C library is not known; gpud needs glibc 2.28 or later"
        return 0
    fi
    found=${found#glibc }
    major=${found%%.*}
    minor=${found#*.}
    minor=${minor%%.*}
    case $major$minor in
    *[!0-9]*)
        say "the version of the C library is not known ($found); gpud needs glibc 2.28 or later"
        return 0
        ;;
    esac
    if [ "$major" -lt 2 ] || { [ "$major" -eq 2 ] && [ "$minor" -lt 28 ]; }; then
        fail "this system has glibc $found, gpud needs 2.28 or later: use the container image"
    fi
}

# Makes the folder of unpacked files: readable by this user only, and independent of the environment of the caller.
make_work_folder() {
    work=$(mktemp -d /var/tmp/gpud-install.XXXXXXXX 2>/dev/null) || work=$(mktemp -d /tmp/gpud-install.XXXXXXXX) ||
        fail "no folder can be made in /var/tmp or /tmp; nothing was installed"
}

# fetch NAME: leaves a release file in $work.
fetch() {
    case $from in
    https://* | http://*)
        if command -v curl >/dev/null 2>&1; then
            # As the first option, -q has curl read no settings of a user.
            curl -q -fsSL --retry 3 -o "$work/$1" "$from/$1"
        elif command -v wget >/dev/null 2>&1; then
            wget --no-config -q -O "$work/$1" "$from/$1"
        else
            fail "curl or wget is needed for $from; or copy the files here and give --from FOLDER"
        fi
        ;;
    *) cp -- "$from/$1" "$work/$1" ;;
    esac
}

check_signature() {
    if [ -z "$key" ]; then
        say "no --public-key: only checksums are checked, which protects against damage, not against a forged folder"
        return 0
    fi
    [ -f "$key" ] || fail "there is no public key $key"
    command -v minisign >/dev/null 2>&1 ||
        fail "minisign is needed to check the signature (Debian, Fedora: package minisign); nothing was installed"
    fetch SHA256SUMS.minisig || fail "$from has no SHA256SUMS.minisig; nothing was installed"
    minisign -V -q -p "$key" -m "$work/SHA256SUMS" -x "$work/SHA256SUMS.minisig" ||
        fail "the signature of $from is not by the key in $key; nothing was installed"
    say "the signature is by the key in $key"
}

# Versions in lines, the latest last: 1.0.0-rc1 comes before 1.0.0, as sort orders a tilde.
by_version() {
    sed 's/-/~/' | sort -V | sed 's/~/-/'
}

# The archives in SHA256SUMS for this machine, the latest last.
archives() {
    sed -n "s/^[0-9a-f]\{64\}  gpud-\([0-9][0-9A-Za-z.+-]*\)-$target\.tar\.gz\$/\1/p" "$work/SHA256SUMS" | by_version
}

# Who can take newer files away from the place of the releases brings old faults back, and their signatures are good: only
# somebody who names an earlier version gets it. GPUd, whose versions are higher, names no contract.
refuse_older() {
    case $old in
    "gpud version "*contract*) installed=${old#gpud version } ;;
    *) return 0 ;;
    esac
    installed=${installed%% *}
    latest=$(printf '%s\n' "$installed" "$version" | by_version | tail -n 1)
    [ "$latest" = "$version" ] ||
        fail "gpud $installed is installed, and the latest of $from is $version; --version $version installs it; nothing was installed"
}

# put MODE SOURCE PATH: installs a file by rename, so that a running program is never half written, and lists it.
put() {
    mkdir -p -- "$(dirname -- "$root$3")"
    cp -- "$2" "$root$3.new.$$"
    chmod "$1" "$root$3.new.$$"
    mv -f -- "$root$3.new.$$" "$root$3"
    printf '%s\n' "$3" >>"$work/manifest"
}

install_gpud() {
    refuse_packaged
    detect_target
    check_libc
    make_work_folder
    trap 'rm -rf -- "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    [ -n "$from" ] || from=$(dirname -- "$0")
    old=
    [ ! -x "$bin/gpud" ] || old=$("$bin/gpud" --version 2>/dev/null) || :
    fetch SHA256SUMS || fail "there is no SHA256SUMS in $from: --from names the folder of release files"
    check_signature
    if [ -z "$version" ]; then
        version=$(archives | tail -n 1)
        [ -n "$version" ] || fail "$from has no archive for $target"
        refuse_older
    elif ! archives | grep -qxF -- "$version"; then
        fail "$from has no version $version for $target; it has: $(archives | tr '\n' ' ')"
    fi
    name=gpud-$version-$target
    fetch "$name.tar.gz" || fail "$name.tar.gz is in SHA256SUMS, and not in $from"
    grep -F -- "  $name.tar.gz" "$work/SHA256SUMS" >"$work/sum"
    (cd "$work" && sha256sum -c sum >/dev/null 2>&1) ||
        fail "$name.tar.gz does not have the checksum of SHA256SUMS; nothing was installed"
    # With -o what is unpacked belongs to this user, not to the number that the archive names.
    tar -xzof "$work/$name.tar.gz" -C "$work"
    files=$work/$name
    # It must start here before it takes the place of one that works.
    new=$("$files/gpud" --version) || fail "the new gpud does not start on this machine; nothing was installed"

    : >"$work/manifest"
    [ ! -x "$bin/gpud" ] || cp -- "$bin/gpud" "$work/gpud.before"
    if [ -f "$work/gpud.before" ]; then
        put 0755 "$work/gpud.before" /usr/local/share/gpud/gpud.before
    fi
    put 0755 "$files/gpud" /usr/local/bin/gpud
    for page in "$files"/man/man1/*.1; do
        put 0644 "$page" "/usr/local/share/man/man1/${page##*/}"
    done
    put 0644 "$files/completions/gpud.bash" /usr/local/share/bash-completion/completions/gpud
    put 0644 "$files/completions/_gpud" /usr/local/share/zsh/site-functions/_gpud
    put 0644 "$files/completions/gpud.fish" /usr/local/share/fish/vendor_completions.d/gpud.fish
    for file in LICENSE THIRD-PARTY.txt sbom.cdx.json; do
        put 0644 "$files/$file" "/usr/local/share/doc/gpud/$file"
    done
    put 0755 "$files/install.sh" /usr/local/share/gpud/install.sh
    # Files of the version before that this one does not have.
    if [ -f "$manifest" ]; then
        while IFS= read -r path; do
            case $path in
            /usr/local/*) grep -qxF -- "$path" "$work/manifest" || rm -f -- "$root$path" ;;
            esac
        done <"$manifest"
    fi
    cp -- "$work/manifest" "$manifest"
    if [ ! -e "$root/etc/default/gpud" ]; then
        mkdir -p -- "$root/etc/default"
        cp -- "$files/systemd/gpud.default" "$root/etc/default/gpud"
        chmod 0644 "$root/etc/default/gpud"
    fi
    if [ -n "$old" ]; then
        say "$old was replaced by $new"
    else
        say "$new is installed"
    fi
    if [ "$start" = no ]; then
        say "nothing was started; gpud up sets up the service"
    elif ! has_systemd; then
        say "there is no systemd here: start it with $bin/gpud run"
    elif "$bin/gpud" up; then
        say "it runs; gpud status says what it finds"
    elif [ -n "$old" ]; then
        # The one that worked comes back, with the state file from before if the new one has changed its tables. The folder
        # may be another user's: with conv=excl nothing that is there is opened, a pipe neither.
        put 0755 "$work/gpud.before" /usr/local/bin/gpud
        dd if=/dev/null of="$state/gpud.state.restore" conv=excl 2>/dev/null || :
        "$bin/gpud" up || :
        fail "the new gpud did not start and $old is back; journalctl -u gpud says why"
    else
        fail "gpud did not start; journalctl -u gpud says why"
    fi
}

case $action in
install) install_gpud ;;
uninstall) uninstall ;;
esac
