#!/bin/sh
# Looks for what building a checker in C needs: clang 19 or later with lld (or the ziglang package of PyPI), make, and a
# native C compiler for the unit tests. What is missing is listed with the commands that install it.
#
#   sdk/c/setup.sh [--install] [--generator]
#
# --install runs these commands; so does GPUD_INSTALL_TOOLS=1 in the environment, which `gpud plugin build
# --install-tools` sets. --generator also installs wit-bindgen, which only generate.sh needs, with cargo. Can be run again at any time. What
# does not come from Debian goes to $GPUD_TOOLS (by default ~/.local/share/gpud-tools).
set -eu
wit_bindgen=0.63.0
ziglang=0.17.0
tools=${GPUD_TOOLS:-$HOME/.local/share/gpud-tools}
PATH=$tools/bin:$PATH
sudo=
[ "$(id -u)" = 0 ] || sudo='sudo '
install=${GPUD_INSTALL_TOOLS:-}
generator=
for argument; do
    case $argument in
    --install) install=1 ;;
    --generator) generator=1 ;;
    *)
        echo "usage: setup.sh [--install] [--generator]" >&2
        exit 2
        ;;
    esac
done

have() { command -v "$1" >/dev/null 2>&1; }

have_wasm_clang() {
    for version in -22 -21 -20 -19 ''; do
        if have "clang$version" && { have "wasm-ld$version" || have wasm-ld; }; then return 0; fi
    done
    return 1
}

# What is missing, and the packages of Debian and Ubuntu that have it.
missing= packages= clang=
if ! have make; then
    missing="$missing
  make: not found"
    packages="$packages make"
fi
if ! have "${CC:-cc}"; then
    missing="$missing
  a C compiler as ${CC:-cc}, for the unit tests: not found"
    packages="$packages gcc libc6-dev"
fi
if [ -z "${WASM_CC:-}" ] && ! have_wasm_clang && [ ! -x "$tools/zig/bin/python" ]; then
    clang=1
    missing="$missing
  clang 19 or later with lld, as clang and wasm-ld: not found"
fi

if [ -n "$missing" ]; then
    if have apt-get; then
        update="${sudo}apt-get update"
        if [ -n "$clang" ]; then
            # Lists of packages tell which of these there are.
            if [ "$install" = 1 ] && [ -z "$(find /var/lib/apt/lists -name '*Packages*' 2>/dev/null | head -n 1)" ]; then
                $update
            fi
            version=
            for candidate in -22 -21 -20 -19; do
                if apt-cache show "clang$candidate" >/dev/null 2>&1; then
                    version=$candidate
                    break
                fi
            done
            packages="$packages clang$version lld$version"
        fi
        commands="${sudo}apt-get install --yes --no-install-recommends$packages"
        shown="$update && $commands"
    elif [ -n "$clang" ] && [ -z "$packages" ]; then
        commands="python3 -m venv '$tools/zig' && '$tools/zig/bin/pip' install --quiet ziglang==$ziglang"
        shown=$commands
    else
        commands=
        shown="your system's packages for them; in the place of clang: python3 -m venv '$tools/zig' && '$tools/zig/bin/pip' install ziglang==$ziglang"
    fi
    if [ "$install" != 1 ] || [ -z "$commands" ]; then
        printf '%s\n' "tools that a build in C needs are missing:$missing" "install them: $shown" >&2
        [ -z "$commands" ] || echo '`gpud plugin build --install-tools` does it' >&2
        exit 1
    fi
    # Without a terminal a password cannot be asked for.
    [ -t 0 ] || commands=$(printf '%s' "$commands" | sed 's/sudo /sudo --non-interactive /g')
    printf '%s\n' "+ $commands" >&2
    eval "$commands"
fi

if [ -n "$generator" ]; then
    case "$(wit-bindgen --version 2>/dev/null)" in
    "wit-bindgen-cli $wit_bindgen"*) ;;
    *) cargo install wit-bindgen-cli --version "$wit_bindgen" --locked --no-default-features --features c,go,rust \
        --root "$tools" ;;
    esac
    echo "wit-bindgen is in $tools/bin"
fi
