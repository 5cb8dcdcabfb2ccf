#!/usr/bin/env bash
# Fuzzes the HTTP API of a debug build by its own OpenAPI document: every answer has to be one that is described, and
# none may be a failure of the daemon. Bounded and repeatable: a fixed seed, a number of examples, a time.
#
# Left out: the stream, which does not end, and the routes that write into the machine's kernel log or run what they are
# given. Property tests in host/server/src/tests/ give those what is not well formed, with a backend that does nothing.
#
#   tests/api-fuzz/run.sh [GPUD]
#
# GPUD_FUZZ_SECONDS (60), GPUD_FUZZ_EXAMPLES (100 per route), GPUD_FUZZ_SEED (1).
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
gpud=${1:-$target/debug/gpud}
venv=$target/api-fuzz/venv
wanted=tests/api-fuzz/requirements.txt

if ! cmp --silent "$wanted" "$venv/installed"; then
  rm -rf "$venv"
  mkdir -p "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$wanted"
  cp "$wanted" "$venv/installed"
fi

folder=$(mktemp -d)
daemon=
finish() {
  status=$?
  if [[ -n $daemon ]]; then
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  if [[ $status -ne 0 && -s $folder/log ]]; then
    echo "the daemon's last lines:" >&2
    tail --lines 20 "$folder/log" >&2
  fi
  rm -rf "$folder"
}
trap finish EXIT

# A port that was free a moment ago; another one if somebody was faster.
for _ in 1 2 3 4 5; do
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  KMSG_FILE_PATH=/dev/null "$gpud" run --data-dir "$folder/data" --plugin-specs-file= \
    --listen-address "127.0.0.1:$port" 2>>"$folder/log" &
  daemon=$!
  for _ in $(seq 600); do
    if curl --silent --insecure --output /dev/null "https://127.0.0.1:$port/healthz"; then
      break 2
    fi
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
done

url=https://127.0.0.1:$port
cd "$folder"
run=("$OLDPWD/$venv/bin/st")
[[ $venv = /* ]] && run=("$venv/bin/st")
timeout 600 "${run[@]}" run "$url/swagger/doc.json" \
  --url "$url" \
  --tls-verify false \
  --seed "${GPUD_FUZZ_SEED:-1}" \
  --max-time "${GPUD_FUZZ_SECONDS:-60}" \
  --max-examples "${GPUD_FUZZ_EXAMPLES:-100}" \
  --phases examples,coverage,fuzzing \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
  --request-timeout 30 \
  --continue-on-failure \
  --warnings off \
  --exclude-path /inject-fault --exclude-path /v1/stream \
  --exclude-operation-id postV1Plugins --exclude-operation-id putV1Plugins \
  --report junit --report-junit-path "$folder/junit.xml"

# What must not be asked was not.
if grep --quiet --extended-regexp 'POST /inject-fault|(POST|PUT) /v1/plugins' "$folder/junit.xml"; then
  echo "a route was asked that should have been left out" >&2
  exit 1
fi

# Nothing that was asked may have brought it down or made it forget a check.
curl --silent --insecure --fail "$url/healthz" >/dev/null
kill -0 "$daemon"
if grep --quiet '"a request handler panicked"' "$folder/log"; then
  echo "a request handler panicked" >&2
  exit 1
fi
