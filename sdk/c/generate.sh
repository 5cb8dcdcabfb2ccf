#!/bin/sh
# Makes generated/gpud_wit.{h,c} of the contract in wit/. Run it after a change of the contract.
#
# Needs wit-bindgen 0.63.0 (`setup.sh --generator` installs it). `generate.sh --check` says whether the files are up to
# date.
set -eu
cd "$(dirname "$0")"
wit=wit
[ -d "$wit" ] || wit=../../wit
out=generated
if [ "${1:-}" = --check ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
fi
raw=$(mktemp -d)
"${WIT_BINDGEN:-wit-bindgen}" c "$wit" --world everything --rename-world gpud_wit --out-dir "$raw" >"$raw/log" 2>&1 || {
    cat "$raw/log" >&2
    exit 1
}
mkdir -p "$out"
cp "$raw/gpud_wit.h" "$out/gpud_wit.h"
# What is changed of the generated code:
# - exports that clean up after a call are left out: an instance is thrown away after its call;
# - exports of the scanner and of the kernel log watcher are there on request, since one file serves all checkers;
# - the object file with the component's type is not needed: `gpud plugin build` adds the type from wit/.
awk '
/^\/\/ Ensure that the \*_component_type.o object is linked in/ { exit }
/^__attribute__\(\(__weak__, __export_name__\("cabi_post_/ { dropping = 1 }
dropping { if (/^}/) dropping = 0; next }
/^__attribute__\(\(__export_name__\("gpud:plugin\/scanner@/ { print "#ifdef GPUD_EXPORT_SCANNER"; guarded = 1 }
/^__attribute__\(\(__export_name__\("gpud:plugin\/kmsg-watcher@/ { print "#ifdef GPUD_EXPORT_KMSG_WATCHER"; guarded = 1 }
{ print }
guarded && /^}/ { print "#endif"; guarded = 0 }
' "$raw/gpud_wit.c" >"$out/gpud_wit.c"
rm -rf "$raw"
# What the bindings were made from: a test compares it, without the generator.
cat "$wit"/*.wit | cksum >"$out/contract.cksum"
if [ "$out" != generated ]; then
    diff -r "$out" generated && echo "generated/ is up to date"
fi
