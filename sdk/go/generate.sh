#!/bin/sh
# Makes internal/wit/ of the contract in wit/. Run it after a change of the contract.
#
# Needs wit-bindgen 0.63.0 (WIT_BINDGEN, or in PATH; `setup.sh --generator` installs it) and gofmt. `generate.sh --check` says whether the files
# are up to date.
set -eu
cd "$(dirname "$0")"
wit=${GPUD_WIT:-../../wit}
out=internal/wit
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
if [ "${1:-}" = --check ]; then
    out=$raw/out
fi
here=gpud.internal/gpud/internal/wit

# What is changed of the generated code: it is for wasip1 alone; the small run-time library that it wants is the one in
# internal/witrt; and an instance is thrown away after its call, so nothing is cleaned up then.
adapt() {
    mkdir -p "$(dirname "$2")"
    {
        printf '//go:build wasip1\n\n'
        awk '
        /^\/\/go:wasmexport cabi_post_/ { dropping = 1 }
        dropping { if (/^}/) dropping = 0; next }
        /^[[:space:]]*runtime\.AddCleanup\(/ { cleaning = 1 }
        cleaning { if (/^[[:space:]]*}, 0\)/) cleaning = 0; next }
        /^\/\/ Unused, but present to make the compiler happy/ { exit }
        { print }
        ' "$1" | sed \
            -e "s|\"runtime\"|runtime \"gpud.internal/gpud/internal/witrt\"|" \
            -e "s|\"go.bytecodealliance.org/pkg/wit/runtime\"|\"gpud.internal/gpud/internal/witrt\"|" \
            -e "s|\"go.bytecodealliance.org/pkg/wit/types\"|\"gpud.internal/gpud/internal/witrt\"|" \
            -e "s|\"wit_component/\(export_[a-z_]*\)\"|\"gpud.internal/gpud/internal/\1\"|" \
            -e "s|\"wit_component/\([a-z_]*\)\"|\"$here/\1\"|" \
            -e "s|^package main|package $3|"
    } >"$2"
}

generate() {
    "${WIT_BINDGEN:-wit-bindgen}" go "$wit" --world "$1" --out-dir "$raw/$1" >"$raw/log" 2>&1 || {
        cat "$raw/log" >&2
        exit 1
    }
}

mkdir -p "$out"
find "$out" -name '*.go' -delete
generate capabilities
for folder in "$raw"/capabilities/gpud_plugin_*; do
    name=$(basename "$folder")
    adapt "$folder/wit_bindings.go" "$out/$name/wit_bindings.go" "$name"
done
for export in checker scanner kmsg_watcher; do
    world=$(echo "$export" | tr _ -)-only
    generate "$world"
    adapt "$raw/$world/gpud_plugin_$export/wit_bindings.go" "$out/gpud_plugin_$export/wit_bindings.go" \
        "gpud_plugin_$export"
    adapt "$raw/$world/wit_exports.go" "$out/exports/$export/wit_exports.go" "$export"
done
gofmt -w "$out"
# What the bindings were made from: a test compares it, without the generator.
cat "$wit"/*.wit | cksum >"$out/contract.cksum"
if [ "$out" != internal/wit ]; then
    diff -r "$out" internal/wit && echo "internal/wit is up to date"
fi
