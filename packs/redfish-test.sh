#!/bin/bash
# server-redfish and redfish-get against a real service over TLS: redfish-test.sh GPUD COMPONENT
#
# The same tree is read by a second client (sushy) where Python has it: GPUD_SUSHY names such a Python.
set -euo pipefail
cd "$(dirname "$0")"
gpud=$1 component=$2
for tool in python3 openssl curl jq; do
    command -v $tool >/dev/null || { echo "redfish: NOT RUN: there is no $tool here" >&2; exit 0; }
done
# A folder that nobody else can write to, as gpud wants it of programs that it runs as root.
work=$PWD/target/redfish
rm -rf "$work"
mkdir -p "$work"
server=
finish() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; }
trap finish EXIT
fail() { echo "redfish: FAILED: $*" >&2; exit 1; }

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=bmc -addext subjectAltName=DNS:localhost \
    -keyout "$work/key.pem" -out "$work/certificate.pem" 2>/dev/null
key=$(openssl x509 -in "$work/certificate.pem" -pubkey -noout | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)
(umask 077; echo "machine localhost login gpud password secret" >"$work/netrc")
sed "s#^conf=.*#conf=$work/redfish.conf#" server-board/redfish-get >"$work/redfish-get"
chmod 755 "$work/redfish-get"
# start TREE
start() {
    finish
    rm -f "$work/port"
    python3 redfish-server.py "server-board/plugins/redfish/trees/$1.json" "$work/certificate.pem" "$work/key.pem" "$work/port" &
    server=$!
    for _ in $(seq 100); do
        [ ! -s "$work/port" ] || break
        sleep 0.1
    done
    port=$(cat "$work/port")
}
# configure LINE: how the certificate is checked.
configure() {
    rm -f "$work/redfish.conf"
    (umask 077; printf '%s\n' "address=localhost:$port" "netrc=$work/netrc" "$@" >"$work/redfish.conf")
}
# says TEXT: what the plugin says has this in it.
says() {
    local said
    said=$("$gpud" plugin run "$component" --config "program: $work/redfish-get" --grant config --grant state \
        --grant "exec: {programs: [{path: $work/redfish-get, arguments: [['*']]}]}" 2>&1) || true
    case $said in *"$1"*) ;; *) fail "the plugin does not say \"$1\" but: $said" ;; esac
}

start hgx-gpu-critical
configure "pin=sha256//$key"
says "GPU Processor (GPU_SXM_5, H100 80GB HBM3, serial SN0000000005) is Critical"
configure "ca=$work/certificate.pem"
says "GPU_SXM_5"
# Neither another key, nor a certificate that nobody vouches for.
configure "pin=sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
says "does not match pinned public key"
configure
says "certificate"
(umask 077; echo "machine localhost login gpud password wrong" >"$work/netrc")
configure "pin=sha256//$key"
says "check the credential"
(umask 077; echo "machine localhost login gpud password secret" >"$work/netrc")
chmod 644 "$work/netrc"
says "can be read or changed by others"
chmod 600 "$work/netrc"
rm "$work/redfish.conf"
says "redfish-get is not configured"
# Only paths of the service, only the address of the configuration.
configure "pin=sha256//$key"
for path in https://example.net/redfish/v1 /redfish/v1@example.net/ '/redfish/v1 --output x' /etc/passwd; do
    ! "$work/redfish-get" "$path" 2>/dev/null || fail "$path was asked for"
done
if [ -n "${GPUD_SUSHY:-}" ]; then
    "$GPUD_SUSHY" redfish-sushy.py "$port" GPU_SXM_5 || fail "sushy reads another tree"
else
    echo "redfish: no second client here (GPUD_SUSHY)"
fi
start idrac-supply-without-feed
configure "pin=sha256//$key"
says "power supply PS2 Status"
start supermicro-leak
configure "pin=sha256//$key"
says "Cold plate leak rope (2) reports a leak of coolant"
start ilo-healthy
configure "pin=sha256//$key"
says "5 parts, none in trouble"
echo "redfish: all is well"
