#!/bin/sh
# Installs what building a checker in C needs, where it is missing: clang and lld (Debian's packages, or the ziglang
# package of PyPI where there is no apt), make, and a native C compiler for the unit tests.
#
#   sdk/c/setup.sh [--generator]
#
# --generator also installs wit-bindgen, which only generate.sh needs, with cargo. Can be run again at any time. What
# does not come from Debian goes to $GPUD_TOOLS (by default ~/.local/share/gpud-tools).
set -eu
wit_bindgen=0.63.0
ziglang=0.17.0
tools=${GPUD_TOOLS:-$HOME/.local/share/gpud-tools}
PATH=$tools/bin:$PATH
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

have() { command -v "$1" >/dev/null 2>&1; }

have_wasm_clang() {
    for version in -22 -21 -20 -19 ''; do
        if have "clang$version" && { have "wasm-ld$version" || have wasm-ld; }; then return 0; fi
    done
    return 1
}

if have apt-get; then
    packages=
    have make || packages="$packages make"
    have cc || packages="$packages gcc libc6-dev"
    if ! have_wasm_clang; then
        [ -z "$(find /var/lib/apt/lists -name '*Packages*' 2>/dev/null | head -n 1)" ] && $sudo apt-get update
        version=
        for candidate in -22 -21 -20 -19; do
            if apt-cache show "clang$candidate" >/dev/null 2>&1; then
                version=$candidate
                break
            fi
        done
        packages="$packages clang$version lld$version"
    fi
    # shellcheck disable=SC2086
    [ -z "$packages" ] || $sudo apt-get install -y --no-install-recommends $packages
elif ! have_wasm_clang && [ ! -x "$tools/zig/bin/python" ]; then
    python3 -m venv "$tools/zig"
    "$tools/zig/bin/pip" install --quiet "ziglang==$ziglang"
fi

if [ "${1:-}" = --generator ]; then
    case "$(wit-bindgen --version 2>/dev/null)" in
    "wit-bindgen-cli $wit_bindgen"*) ;;
    *) cargo install wit-bindgen-cli --version "$wit_bindgen" --locked --no-default-features --features c,go \
        --root "$tools" ;;
    esac
    echo "wit-bindgen is in $tools/bin"
fi
