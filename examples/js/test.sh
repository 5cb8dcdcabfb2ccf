#!/bin/sh
# Checks and tests the JavaScript SDK and its examples, then builds the examples: `test.sh [--no-build]`.
set -eu
cd "$(dirname "$0")"
sdk=$(cd ../../sdk/js && pwd)
"$sdk/setup.sh"
(cd "$sdk" && npm run --silent check && npm test --silent)
for example in */package.json; do
    folder=$(dirname "$example")
    (
        cd "$folder"
        [ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
        npm run --silent check
        npm test --silent
    )
    [ "${1:-}" = --no-build ] || (cd "$folder" && npm run --silent build)
done
