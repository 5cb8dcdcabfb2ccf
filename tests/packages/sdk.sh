#!/bin/bash
# Builds a new plugin of each language from the SDKs of a release, without a network: sdk.sh FOLDER GPUD
#
# FOLDER is one of `cargo xtask dist`. Rust has all it needs there; for the others, what a package manager would fetch is
# fetched before, as docs/plugins/offline.md says. A language whose tools are missing is left out, and the output says so.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
dist=$(realpath -e -- "$1")
gpud=$(realpath -e -- "$2")
not_run() {
    echo "NOT RUN: $*" >&2
    exit 77
}
[[ $(id -u) = 0 ]] || not_run "a network of its own, with nothing in it, needs root"
unshare --net true 2>/dev/null || not_run "unshare --net is not allowed here"
# What another build has set is for that one.
unset CARGO_TARGET_DIR CARGO_ENCODED_RUSTFLAGS RUSTFLAGS CARGO_BUILD_TARGET CARGO_MANIFEST_DIR
work=$(mktemp -d)
finish() {
    # Go's cache of modules is read-only.
    chmod -R u+w -- "$work" 2>/dev/null || :
    rm -rf -- "$work"
}
trap finish EXIT
cd "$work"

ran=()
left_out() { echo "$1: NOT RUN, there is no $2" >&2; }
new() { "$gpud" plugin new --lang "$1" --sdk "$dist" "$1-check" >/dev/null; }
# build LANGUAGE VARIABLE=VALUE…: without a network. The variables are passed on by name.
build() {
    local language=$1 named=() variable
    shift
    for variable; do named+=(--env "${variable%%=*}"); done
    env "$@" unshare --net "$gpud" plugin test "${named[@]}" "$language-check" >"$work/output" 2>&1 || {
        echo "FAILED: $language" >&2
        tail -n 30 "$work/output" >&2
        exit 1
    }
    grep -q 'all as expected' "$work/output"
    ran+=("$language")
}

if command -v cargo >/dev/null && [[ -d $(rustc --print target-libdir --target wasm32-unknown-unknown) ]]; then
    new rust
    build rust "CARGO_HOME=$work/cargo"
    # Nothing of it was in a cache.
    [[ ! -e $work/cargo/registry ]] || [[ -z $(find "$work/cargo/registry" -name '*.crate') ]]
else
    left_out rust "cargo with wasm32-unknown-unknown"
fi

if command -v go >/dev/null; then
    new go
    (cd go-check && GOMODCACHE=$work/modules go mod download)
    build go "GOMODCACHE=$work/empty" "GOPROXY=file://$work/modules/cache/download" GONOSUMDB="*"
else
    left_out go go
fi

if python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    new python
    python3 -m pip download --quiet --dest "$work/wheels" --requirement python-check/vendor/gpud-sdk/requirements.txt
    build python PIP_NO_INDEX=1 "PIP_FIND_LINKS=$work/wheels"
else
    left_out python "Python 3.11 with pip"
fi

if command -v npm >/dev/null; then
    new js
    (cd js-check && npm install --no-save --ignore-scripts --no-audit --no-fund --silent)
    build js
else
    left_out js npm
fi

new c
if c-check/gpud-sdk/setup.sh >/dev/null 2>&1; then
    build c
else
    left_out c "clang 19 with lld, make and a C compiler"
fi

((${#ran[@]})) || not_run "there are no tools of any language"
echo "SDKs: ${ran[*]} built and tested without a network"
