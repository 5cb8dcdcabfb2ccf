#!/bin/sh
# Tests the Python SDK and its examples, then builds the examples: `test.sh [--no-build]`.
set -eu
cd "$(dirname "$0")"
sdk=$(cd ../../sdk/python && pwd)
"$sdk/setup.sh"
python=$sdk/.venv/bin/python
(cd "$sdk" && "$python" -m unittest discover -s tests)
for example in */pyproject.toml; do
    folder=$(dirname "$example")
    (cd "$folder" && "$python" -m unittest discover -s tests)
    [ "${1:-}" = --no-build ] || "$python" -m gpud_sdk build "$folder"
done
