#!/bin/sh
# Installs what building and testing gpud plugins in Python needs, into a virtual environment: `setup.sh [FOLDER]`,
# by default `.venv` beside this file. May be run again; what is there already stays. Needs Python 3.11 or later.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/.venv}
# The environment may be taken over by a build that runs elsewhere: the stamp tells what it was made from.
stamp=$venv/gpud-sdk.stamp
wanted=$(cat "$here/requirements.txt" "$here/pyproject.toml" | cksum)
if [ -x "$venv/bin/python" ] && [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "gpud's Python SDK needs Python 3.11 or later; set PYTHON to one" >&2
    exit 1
}
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
# A path instead of an installation: an edit of the SDK is seen at once, and nothing has to be built.
"$venv/bin/python" - "$here/src" <<'PYTHON'
import site, sys
from pathlib import Path

Path(site.getsitepackages()[0], "gpud-sdk.pth").write_text(sys.argv[1] + "\n", encoding="utf-8")
PYTHON
echo "$wanted" > "$stamp"
