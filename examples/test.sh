#!/bin/sh
# Builds the Go and C examples from a clean state, runs their unit tests, and checks each component with gpud on a
# machine with made-up sensors: test.sh [GPUD]
#
# Needs root (for the made-up sensors), and what sdk/go/setup.sh and sdk/c/setup.sh install.
set -eu
cd "$(dirname "$0")"
gpud=$(command -v "${1:-gpud}")
gpud=$(realpath "$gpud")
passed=0
failed=0

# expect NAME TEXT FILE=CONTENT…: does gpud say TEXT about the example NAME?
expect() {
    name=$1
    text=$2
    shift 2
    said=$(./with-hwmon.sh "$@" -- "$gpud" cs "$name/spec.yaml" -r 2>&1) || true
    case $said in
    *"$text"*)
        echo "ok: $name: $text"
        passed=$((passed + 1))
        ;;
    *)
        echo "not ok: $name does not say \"$text\":"
        echo "$said"
        failed=$((failed + 1))
        ;;
    esac
}

# The SDKs themselves.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
    cd ../sdk/c
    cc -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra \
        -I include -I testing testing/sdk_test.c testing/gpud_testing.c src/report.c src/text.c src/json.c -lm \
        -o "$work/sdk_test"
    "$work/sdk_test"
)
(cd ../sdk/go && go vet ./... && go test -count=1 ./...)
(cd ../sdk/go/cmd/gpud-go && go vet ./... && go test -count=1 ./...)

for name in c/*/; do
    make -C "$name" clean
    make -C "$name" test all
done
for name in go/*/; do
    (
        cd "$name"
        rm -rf build
        go vet ./...
        go test -count=1 ./...
        go tool gpud-go build -o "build/$(basename "$PWD").wasm"
    )
done

for language in c go; do
    example=$language/board-temperature
    expect $example "no temperature sensor on this machine"
    expect $example "1 sensors, hottest is nvme/Composite with 45.5 °C" \
        hwmon0/name=nvme hwmon0/temp1_input=45500 hwmon0/temp1_label=Composite
    expect $example "nvme/temp1: 85.5 °C, warning is 80.0 °C" hwmon0/name=nvme hwmon0/temp1_input=85500
    expect $example "nvme/temp1: 97.0 °C, critical is 95.0 °C" hwmon0/name=nvme hwmon0/temp1_input=97000
    expect $example "none of 1 temperature sensors can be read" hwmon0/name=nvme hwmon0/temp1_input=255000
done
expect c/fan-stall "no fan on this machine"
expect c/fan-stall "1 of 2 fans turn, none has stalled" \
    hwmon0/name=nct6775 hwmon0/fan1_input=1200 hwmon0/fan2_input=0
if [ -d /run/systemd/system ]; then
    expect go/systemd-units "systemd-units"
elif command -v systemctl >/dev/null; then
    expect go/systemd-units "systemd does not run this machine"
else
    expect go/systemd-units "no systemd on this machine"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
