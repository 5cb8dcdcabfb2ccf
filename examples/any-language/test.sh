#!/bin/bash
# Builds and tests the plugins that are made without an SDK, with a built gpud: test.sh GPUD
#
# docs/plugins/any-language.md shows them. ZIG names a zig compiler; else the one of PyPI's package ziglang is fetched.
# Exit status: 0 passed, 1 failed, 77 nothing could be run.
set -euo pipefail
cd "$(dirname "$0")"
readonly ZIGLANG=0.17.0
gpud=$(realpath "$(command -v "${1:-gpud}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What another build has set is for that one.
unset CARGO_TARGET_DIR CARGO_ENCODED_RUSTFLAGS RUSTFLAGS CARGO_BUILD_TARGET CARGO_MANIFEST_DIR

# A build of root gets few variables of its own accord.
variables=(--env ZIG --env ZIG_GLOBAL_CACHE_DIR --env ZIG_LOCAL_CACHE_DIR)

cmp rust/cases.yaml zig/cases.yaml
cmp rust/plugin.yaml zig/plugin.yaml

# one LANGUAGE: as an author would.
one() {
    echo "== $1"
    "$gpud" plugin build "${variables[@]}" "$1"
    "$gpud" plugin test "${variables[@]}" --no-build "$1"
    "$gpud" plugin validate "$1/kernel-taint.wasm"
    # What it does not call, it does not ask for.
    "$gpud" plugin inspect "$1/kernel-taint.wasm" --json >"$work/$1.json"
    python3 - "$work/$1.json" <<'PYTHON'
import json, sys

asks = [request["interface"] for request in json.load(open(sys.argv[1]))["asks_for"]]
assert asks == ["sysfs"], f"it asks for {asks}"
PYTHON
}

ran=0
command -v python3 >/dev/null || { echo "any-language: NOT RUN: there is no python3 here" >&2; exit 77; }
if [ -d "$(rustc --print target-libdir --target wasm32-wasip2 2>/dev/null)" ]; then
    one rust
    ran=1
else
    echo "any-language: rust NOT RUN: rustup target add wasm32-wasip2" >&2
fi
if [ -z "${ZIG:-}" ] && python3 -m venv "$work/zig" && "$work/zig/bin/pip" install --quiet "ziglang==$ZIGLANG"; then
    ZIG="$work/zig/bin/python -m ziglang"
fi
if [ -n "${ZIG:-}" ]; then
    export ZIG ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache
    one zig
    ran=1
else
    echo "any-language: zig NOT RUN: no zig, and ziglang cannot be fetched" >&2
fi
[ "$ran" = 1 ] || exit 77
