#!/bin/sh
# Fetches what building a checker in Go needs: the Go modules of gpud-go. Go itself (1.26 or later) has to be there.
#
#   sdk/go/setup.sh [--generator]
#
# --generator also installs wit-bindgen, which only generate.sh needs, with cargo into $GPUD_TOOLS (by default
# ~/.local/share/gpud-tools). Can be run again at any time.
set -eu
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
if [ "${1:-}" = --generator ]; then
    case "$(wit-bindgen --version 2>/dev/null)" in
    "wit-bindgen-cli $wit_bindgen"*) ;;
    *) cargo install wit-bindgen-cli --version "$wit_bindgen" --locked --no-default-features --features c,go,rust \
        --root "$tools" ;;
    esac
    echo "wit-bindgen is in $tools/bin"
fi
