#!/bin/sh
# Installs what building a checker in Go needs, where it is missing: wasm-tools, and the Go modules of gpud-go. Go
# itself (1.26 or later) has to be there.
#
#   sdk/go/setup.sh [--generator]
#
# --generator also installs wit-bindgen, which only generate.sh needs. Can be run again at any time. Programs go to
# $GPUD_TOOLS (by default ~/.local/share/gpud-tools); put its bin folder into PATH.
set -eu
wasm_tools=1.263.0
wit_bindgen=0.63.0
go_minor=26
tools=${GPUD_TOOLS:-$HOME/.local/share/gpud-tools}
PATH=$tools/bin:$PATH
cd "$(dirname "$0")"

minor=$(go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
if [ "${minor:-0}" -lt "$go_minor" ]; then
    echo "Go 1.$go_minor or later is needed; found: $(go version 2>/dev/null || echo none)" >&2
    exit 1
fi
(cd cmd/gpud-go && go mod download)
case "$(wasm-tools --version 2>/dev/null)" in
"wasm-tools $wasm_tools"*) ;;
*) cargo install wasm-tools --version "$wasm_tools" --locked --no-default-features \
    --features component,parse,print,strip,validate --root "$tools" ;;
esac
if [ "${1:-}" = --generator ]; then
    case "$(wit-bindgen --version 2>/dev/null)" in
    "wit-bindgen-cli $wit_bindgen"*) ;;
    *) cargo install wit-bindgen-cli --version "$wit_bindgen" --locked --no-default-features --features c,go \
        --root "$tools" ;;
    esac
fi
echo "ready; tools are in $tools/bin"
