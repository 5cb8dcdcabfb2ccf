#!/bin/bash
# Finds a Python with the S3 server moto: that of this machine, else one with moto from PyPI.
#
#   python.sh      prints the path of the interpreter
#
# GPUD_TEST_TOOLS_CACHE names another folder than ~/.cache/gpud-test-tools. An exit status of 77 says that moto cannot be had
# here, and a line on stderr says why.
set -euo pipefail

version=5.2.1
if python3 -c 'import boto3, flask, moto.server' 2>/dev/null; then
  command -v python3
  exit
fi
venv=$(realpath -m -- "${GPUD_TEST_TOOLS_CACHE:-$HOME/.cache/gpud-test-tools}")/moto-$version
if [[ ! -e $venv/done ]]; then
  rm -rf -- "$venv"
  if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "moto[server,s3]==$version" && touch "$venv/done"; } >&2; then
    echo "NOT RUN: the S3 server moto $version cannot be fetched from PyPI" >&2
    exit 77
  fi
fi
echo "$venv/bin/python3"
