#!/bin/bash
# Prints the path of a gpud with the compiled code of its checks: with-code.sh GPUD
#
# That is GPUD itself, or for a plain build the copy that the end-to-end tests leave, or one that is made beside that.
set -euo pipefail
gpud=$1
copy=$(dirname -- "$gpud")/../tmp/gpud
has_code() { tail -c 16 "$1" | grep -aq '^gpud-builtins-[0-9]*$'; }
if has_code "$gpud"; then
    echo "$gpud"
elif [[ $copy -nt $gpud ]] && has_code "$copy"; then
    realpath -- "$copy"
else
    made=$(dirname -- "$gpud")/with-code/gpud
    if [[ ! $made -nt $gpud ]]; then
        mkdir -p -- "$(dirname -- "$made")"
        "$gpud" compile-builtins --output "$made.code" >&2
        cat -- "$gpud" "$made.code" >"$made.part"
        chmod 755 "$made.part"
        mv -- "$made.part" "$made"
    fi
    echo "$made"
fi
