#!/bin/sh
# Makes src/bindings/*.rs of the contract in wit/. Run it after a change of the contract.
#
# Needs wit-bindgen 0.63.0 (`../c/setup.sh --generator` installs it). `generate.sh --check` says whether the files are up to
# date.
set -eu
cd "$(dirname "$0")"
out=src/bindings
if [ "${1:-}" = --check ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
raw=$(mktemp -d)

# generate WORLD OUTPUT OPTION…
generate() {
    world=$1 name=$2
    shift 2
    "${WIT_BINDGEN:-wit-bindgen}" rust wit --world "$world" --out-dir "$raw" --additional-derive-attributes PartialEq "$@" \
        >"$raw/log" 2>&1 || {
        cat "$raw/log" >&2
        exit 1
    }
    mv "$raw/$(echo "$world" | tr - _).rs" "$out/$name.rs"
}

# The imports and types once, and each export in a world of its own, so that a plugin exports only what it implements.
types=gpud:plugin/types@0.1.0=crate::bindings::gpud::plugin::types
kmsg=gpud:plugin/kmsg@0.1.0=crate::bindings::gpud::plugin::kmsg
generate capabilities capabilities --generate-unused-types
for export in checker scanner kmsg_watcher; do
    with=$types
    [ $export != kmsg_watcher ] || with=$types,$kmsg
    generate "$(echo $export | tr _ -)-only" $export --with "$with" --pub-export-macro --export-macro-name export_$export
done
rm -rf "$raw"
# What the bindings were made from: a test compares it, without the generator.
cat wit/*.wit | cksum >"$out/contract.cksum"
if [ "$out" != src/bindings ]; then
    diff -r "$out" src/bindings && echo "src/bindings is up to date"
fi
