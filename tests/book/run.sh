#!/bin/sh
# Builds docs/ as a book with mdBook, fails at each warning of it, and follows every link in the built pages.
#
#   run.sh [FOLDER]     the book is left in FOLDER, or in target/book
#
# GPUD_MDBOOK names mdBook if it is not in the path; `cargo install mdbook --no-default-features` builds one.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -eu

here=$(dirname -- "$(realpath -- "$0")")
root=$(realpath -- "$here/../..")
book=$(realpath -m -- "${1:-${CARGO_TARGET_DIR:-$root/target}/book}")

mdbook=$(command -v -- "${GPUD_MDBOOK:-mdbook}") || {
    printf '\n*** NOT RUN: the book is left out, there is no mdbook (cargo install mdbook --no-default-features) ***\n\n' >&2
    exit 77
}

log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
"$mdbook" build "$root" --dest-dir "$book" 2>&1 | tee "$log" >&2
if grep -E '\b(WARN|ERROR)\b' "$log" >&2; then
    echo "mdbook has warnings" >&2
    exit 1
fi
exec python3 "$here/links.py" "$book"
