#!/bin/bash
# Shows the page of a gpud binary in Chromium, on machines that are made up, and holds what is shown against the API.
#
#   run.sh GPUD [NAME…]     all tests, or those whose name holds one of these words
#
# Screenshots are left in $GPUD_PAGE_SHOTS, or in target/page-tests/shots. GPUD_CHROMIUM names another browser, GPUD_PAGE_DIST
# a folder with a page that was built after the binary. The pictures of the README are taken on the way:
#
#   run.sh GPUD lost && cp target/page-tests/shots/readme/*.png docs/images/
#
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail

readonly NOT_RUN=77

not_run() {
    printf '\n*** NOT RUN: %s ***\n*** Nothing was checked: this is no pass. ***\n\n' "$1" >&2
    exit "$NOT_RUN"
}

if [[ $# -lt 1 ]]; then
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 1
fi
gpud=$(realpath -e -- "$1")
shift
here=$(dirname -- "$(realpath -- "$0")")
root=$(realpath -- "$here/../..")
target=$(realpath -m -- "${CARGO_TARGET_DIR:-$root/target}")
work=$target/page-tests
mkdir -p "$work"

command -v npm >/dev/null || not_run "the page's tests need Node.js with npm, and there is none"
command -v script >/dev/null || not_run "the picture of the terminal needs script(1) of util-linux"

# The library that speaks for GPUs is built with the other tests.
mock=$(find "$target/debug" -maxdepth 2 -name libgpud_nvml_mock.so 2>/dev/null | head -n 1 || true)
mock=${GPUD_NVML_MOCK:-$mock}
[[ -n $mock ]] || not_run "the page's tests need $target/debug/libgpud_nvml_mock.so: cargo build -p gpud-nvml-mock"

# Chromium and what it links to come from Debian. They are unpacked beside the tests, not installed.
chromium=${GPUD_CHROMIUM:-$(command -v chromium || true)}
if [[ -z $chromium ]]; then
    browser=$work/chromium
    if [[ ! -e $browser/done ]]; then
        mkdir -p "$browser"
        (
            cd "$browser"
            # What is not installed yet of Chromium and all that it needs; and its fonts in any case, since it sees no others.
            fonts="fontconfig-config fonts-dejavu-core"
            missing() {
                # shellcheck disable=SC2086 # Names of packages hold no spaces.
                apt-get install --simulate --no-install-recommends chromium $fonts | awk '$1 == "Inst" { print $2 }'
            }
            list=$(missing) || { apt-get update >&2 && list=$(missing); } || exit 1
            # shellcheck disable=SC2086 # Names of packages hold no spaces.
            list=$(printf '%s\n' $list $fonts | sort -u)
            # shellcheck disable=SC2086
            apt-get download $list >&2 || { apt-get update >&2 && apt-get download $list >&2; } || exit 1
            for package in *.deb; do dpkg-deb --extract "$package" .; done
            rm -f -- *.deb
            touch done
        ) || not_run "Debian's chromium cannot be had here"
    fi
    chromium=$work/chromium.sh
    libraries=$browser/usr/lib/$(uname -m)-linux-gnu
    cat >"$chromium" <<SCRIPT
#!/bin/bash
export LD_LIBRARY_PATH=$browser/usr/lib/chromium:$libraries:$libraries/pulseaudio:$browser/lib/$(uname -m)-linux-gnu
export FONTCONFIG_SYSROOT=$browser
exec $browser/usr/lib/chromium/chromium "\$@"
SCRIPT
    chmod +x "$chromium"
fi
said=$(timeout 60 "$chromium" --version 2>&1) || not_run "$chromium does not start: $said"

modules=$work/node
mkdir -p "$modules"
cp -- "$here/package.json" "$here/package-lock.json" "$modules/"
if ! cmp -s "$modules/package-lock.json" "$modules/node_modules/.installed"; then
    (cd "$modules" && npm ci --ignore-scripts --no-audit --no-fund >&2) || not_run "the npm registry does not give playwright-core and axe-core"
    cp -- "$modules/package-lock.json" "$modules/node_modules/.installed"
fi
# Node looks for packages in the folders above a script.
cp -- "$here"/*.mjs "$modules/"

export GPUD_BIN=$gpud GPUD_NVML_MOCK=$mock GPUD_CHROMIUM=$chromium
export GPUD_PAGE_SHOTS=${GPUD_PAGE_SHOTS:-$work/shots}
mkdir -p "$GPUD_PAGE_SHOTS"
cd "$modules"
exec timeout --kill-after=10 1500 node --test-reporter=spec --test --test-concurrency=1 ${*:+--test-name-pattern="$(IFS='|'; echo "$*")"} page.test.mjs
