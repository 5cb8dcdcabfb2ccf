#!/bin/bash
# Everything about the packs, with a built gpud: test.sh GPUD
#
# Lints and tests of their plugins, the components on made-up machines, then each pack as a vendor and an operator have
# it: built, signed with a key made for this, verified, installed into a daemon with a data folder of its own, seen in
# /v1/states, replaced, removed.
#
# Status 77: there is nothing to run it with here.
set -euo pipefail
cd "$(dirname "$0")"
gpud=$(realpath "$(command -v "${1:-gpud}")")

for tool in cargo curl jq; do
    command -v $tool >/dev/null || { echo "packs: NOT RUN: there is no $tool here" >&2; exit 77; }
done
# What another build has set is for that one.
unset CARGO_TARGET_DIR CARGO_ENCODED_RUSTFLAGS RUSTFLAGS CARGO_BUILD_TARGET CARGO_MANIFEST_DIR
sysroot=$(rustc --print sysroot)
if [ ! -d "$sysroot/lib/rustlib/wasm32-unknown-unknown" ]; then
    echo "packs: NOT RUN: rustup target add wasm32-unknown-unknown" >&2
    exit 77
fi

work=$(mktemp -d)
daemon=
finish() {
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap finish EXIT

say() { echo "packs: $*"; }
fail() {
    say "FAILED: $*" >&2
    [ ! -s "$work/log" ] || tail -n 40 "$work/log" >&2
    exit 1
}
# refused TEXT COMMAND…: the command fails, and says TEXT.
refused() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then fail "this was to be refused: $*"; fi
    case $said in *"$text"*) ;; *) fail "$* does not say \"$text\" but: $said" ;; esac
}

say "format"
cargo fmt --all --check
say "lints and tests"
# Clippy as the compiler: one build for both.
RUSTC_WORKSPACE_WRAPPER=clippy-driver \
    CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ \
    cargo test --locked --workspace --lib --bins --tests

say "components"
guests=(--workspace --exclude gpud-pack-common)
cargo build --locked --release --target wasm32-unknown-unknown "${guests[@]}"
for project in */plugins/*/; do
    pack=${project%%/*}
    mkdir -p "target/packs/$pack/plugins"
    "$gpud" plugin build "$project"
    # Its own tests have run.
    "$gpud" plugin test --no-build "$project/cases.yaml"
done
say "outputs of real machines"
for project in */plugins/*/; do
    name=$(sed -n 's/^name: //p' "$project/gpud-plugin.yaml")
    component=target/packs/${project%%/*}/plugins/$(basename "$project").wasm
    for cases in ../tests/board-tools/*."$name".yaml; do
        [ ! -e "$cases" ] || "$gpud" plugin test --component "$component" "$cases"
    done
done
say "redfish"
./redfish-test.sh "$gpud" target/packs/server-board/plugins/redfish.wasm
for component in target/packs/*/plugins/*.wasm; do
    "$gpud" plugin validate "$component"
done

say "keys"
mkdir "$work/trusted" "$work/others"
"$gpud" pack keygen "$work/vendor" >/dev/null
"$gpud" pack keygen "$work/other" >/dev/null
mv "$work/vendor.pub" "$work/trusted/"
mv "$work/other.pub" "$work/others/"

# archive PACK VERSION: builds and signs it.
archive() {
    local folder=$work/source/$1
    rm -rf "$folder"
    mkdir -p "$folder/plugins"
    cp "$1/README.md" "$folder/"
    cp "target/packs/$1/plugins/"*.wasm "$folder/plugins/"
    sed "s/^version: .*/version: $2/" "$1/pack.yaml" >"$folder/pack.yaml"
    "$gpud" pack build "$folder" --key "$work/vendor.key" --output "$work/$1-$2.tar"
}

port=$((20000 + RANDOM % 20000))
url=https://127.0.0.1:$port
data=$work/data
mkdir "$data"
"$gpud" run --data-dir "$data" --components none --plugin-specs-file "" --listen-address "127.0.0.1:$port" \
    --log-level warn >"$work/log" 2>&1 &
daemon=$!
states() { curl --silent --insecure --max-time 10 "$url/v1/states" || echo '[]'; }
# until_true SECONDS WHAT COMMAND…
until_true() {
    local left=$1 what=$2
    shift 2
    until "$@"; do
        kill -0 "$daemon" 2>/dev/null || fail "the daemon ended"
        left=$((left - 1))
        [ $left -gt 0 ] || fail "$what; states are: $(states)"
        sleep 1
    done
}
answers() { curl --silent --insecure --max-time 5 --output /dev/null "$url/healthz"; }
components() { curl --silent --insecure --max-time 5 "$url/v1/components" || echo '[]'; }
loaded() { components | jq -e --arg name "$1" 'index($name) != null' >/dev/null 2>&1; }
gone() { ! loaded "$1"; }
checked() {
    # One that finds nothing to watch here is hidden from /v1/states; what a check said of that is in its trigger's answer.
    curl --silent --insecure --max-time 70 "$url/v1/components/trigger-check?componentName=$1" |
        jq -e 'map(.states[]) | length > 0 and all(.health != "Initializing" and (.reason | contains("itself failed") | not))' \
            >/dev/null 2>&1
}
until_true 60 "the daemon does not answer" answers

for pack in server-board storage; do
    say "$pack"
    archive $pack 1.0.0
    tar=$work/$pack-1.0.0.tar
    "$gpud" pack verify "$tar" --trusted-keys "$work/trusted"
    refused "trust" "$gpud" pack verify "$tar" --trusted-keys "$work/others"
    # A byte of the last component.
    cp "$tar" "$work/changed.tar"
    printf X | dd of="$work/changed.tar" bs=1 seek=$(($(stat -c %s "$tar") / 2)) conv=notrunc status=none
    refused "" "$gpud" pack verify "$work/changed.tar" --trusted-keys "$work/trusted" --allow-unsigned

    install=("$gpud" pack install --trusted-keys "$work/trusted" --data-dir "$data")
    refused "--approve" "${install[@]}" "$tar"
    [ "$("$gpud" pack list --data-dir "$data" --json | jq length)" = 0 ] || fail "$pack is installed without approval"
    "${install[@]}" "$tar" --approve
    "$gpud" pack list --data-dir "$data"
    names=$(sed -n 's/^  - name: //p' $pack/pack.yaml)
    for name in $names; do
        until_true 120 "$name does not appear" loaded "$name"
        until_true 30 "$name gives no report" checked "$name"
        say "$name: $(curl --silent --insecure "$url/v1/components/trigger-check?componentName=$name" | jq -r '.[].states[].reason')"
    done
    # At least one of each pack is to be seen in /v1/states: with a module or a controller that is missed.
    case $pack in
    server-board) seen=server-memory health=Degraded own='{ expected_dimms: 1024 }' ;;
    storage) seen=storage-md health=Unhealthy own='{ expected_arrays: [md4096] }' ;;
    esac
    echo "$seen: $own" >"$work/own.yaml"
    # Another version asks for nothing more, and needs no approval.
    archive $pack 1.0.1
    "${install[@]}" "$work/$pack-1.0.1.tar" --config "$work/own.yaml"
    in_states() {
        states | jq -e --arg name "$seen" --arg health "$health" \
            'any(.[]; .component == $name and any(.states[]; .health == $health))' >/dev/null 2>&1
    }
    until_true 120 "$seen is not $health in /v1/states" in_states
    say "$seen in /v1/states: $(states | jq -r --arg name $seen '.[] | select(.component == $name) | .states[].reason')"
    "$gpud" pack remove $pack --data-dir "$data"
    for name in $names; do
        until_true 60 "$name is still there" gone "$name"
    done
done
kill "$daemon"
wait "$daemon" || true
daemon=
say "all is well"
