#!/bin/bash
# Builds and tests SDKs, examples and templates of all languages, as an author would, with a built gpud:
#
#   examples/test.sh GPUD [LANGUAGE…]
#
# A language: its set-up, the tests of its SDK, each example (`gpud plugin build`, `test`, `validate`), and a new project
# (`gpud plugin new`, `test`, `gpud cs -r`). Languages run two at a time; what each says is shown when it ends.
# The components of board-temperature are left in target/examples, where `cargo xtask bench` looks for them.
#
# A language whose toolchain cannot be installed is skipped, loudly; with CI set in the environment that is a failure.
# Exit status: 0 passed, 1 failed, 77 nothing could be run.
set -uo pipefail
shopt -s nullglob

readonly NOT_RUN=77 LANGUAGES="python rust js go c"
if [[ $# -eq 0 ]]; then
    sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
    exit 1
fi
gpud=$(realpath -e -- "$1") || exit 1
shift
root=$(realpath -- "$(dirname -- "$0")/..")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export PATH="$PATH:/usr/local/go/bin"
# The set-up of a language installs what it lacks.
export GPUD_INSTALL_TOOLS=1
built=${CARGO_TARGET_DIR:-$root/target}/examples
mkdir -p -- "$built"

# What builds and tests may be bounded by, seconds: the first ones fetch what they need.
readonly SET_UP=900 STEP=900

step() {
    printf '  $ %s\n' "$*"
    timeout --kill-after=10 "$STEP" "$@"
}

set_up() {
    case $1 in
    rust)
        command -v cargo >/dev/null || { echo "cargo is not installed"; return 1; }
        [[ -d $(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib ]] ||
            rustup target add wasm32-unknown-unknown
        ;;
    *) timeout --kill-after=10 "$SET_UP" "$root/sdk/$1/setup.sh" ;;
    esac
}

sdk() {
    cd "$root/sdk/$1" || return 1
    # Bindings that are generated and kept: are they those of today's contract?
    local made
    for made in internal/wit/contract.cksum generated/contract.cksum src/bindings/contract.cksum; do
        [[ ! -f $made ]] || cat "$root"/wit/*.wit | cksum | cmp - "$made" ||
            { echo "sdk/$1: wit/ has changed: run sdk/$1/generate.sh"; return 1; }
    done
    case $1 in
    rust) ;; # Part of the workspace: `cargo test` has tested it.
    go)
        step go vet ./... && step go test ./... && cd cmd/gpud-go && step go vet ./... && step go test ./...
        ;;
    c)
        local flags="-std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
        # shellcheck disable=SC2086
        step cc $flags -Wall -Wextra -I include -I testing testing/sdk_test.c testing/gpud_testing.c src/report.c \
            src/text.c src/json.c -lm -o "$work/c-sdk-test" && step "$work/c-sdk-test"
        ;;
    python)
        step .venv/bin/python -m unittest discover -s tests &&
            step .venv/bin/python -m gpud_sdk build conformance &&
            step "$gpud" plugin test conformance/cases.yaml
        ;;
    js)
        step npm run --silent check && step npm test --silent && step node bin/gpud-sdk.mjs build conformance &&
            step "$gpud" plugin test conformance/cases.yaml
        ;;
    esac
}

example() {
    local language=$1 name=$2 folder=$root/examples/$1/$2 component
    if [[ $name == board-temperature ]]; then
        cmp "$root/examples/rust/$name/tests/cases.yaml" "$folder/tests/cases.yaml" || return 1
    fi
    step "$gpud" plugin build "$folder" && step "$gpud" plugin test --no-build "$folder" || return 1
    component=$folder/$(sed -n 's/^component: //p' "$folder/gpud-plugin.yaml")
    step "$gpud" plugin validate "$component" || return 1
    if [[ $name == board-temperature ]]; then
        cp -- "$component" "$built/$language-$name.wasm"
    fi
}

new_project() {
    cd "$work" || return 1
    step "$gpud" plugin new --lang "$1" "new-$1" && cd "new-$1" || return 1
    # What the examples have built or fetched already is not built and fetched again.
    case $1 in
    rust) export CARGO_TARGET_DIR=$PWD/target && ln -s "$root/examples/rust/target" target ;;
    python) ln -s "$root/sdk/python/.venv" .venv ;;
    esac
    # `test` builds it first.
    step "$gpud" plugin test && step "$gpud" cs plugin.yaml -r
}

one_language() {
    local language=$1 folder
    if ! set_up "$language"; then
        echo "its toolchain cannot be installed here"
        return "$NOT_RUN"
    fi
    (sdk "$language") || return 1
    for folder in "$root/examples/$language"/*/gpud-plugin.yaml; do
        (example "$language" "$(basename "$(dirname "$folder")")") || return 1
    done
    (new_project "$language")
}

run() {
    local started=$SECONDS
    one_language "$1" >"$work/$1.log" 2>&1 </dev/null
    echo "$? $((SECONDS - started))" >"$work/$1.ended"
}

for language in ${*:-$LANGUAGES}; do
    if [[ ! -d $root/examples/$language ]]; then
        echo "no examples in $language; there are: $LANGUAGES" >&2
        exit 1
    fi
    while [[ $(jobs -pr | wc -l) -ge 2 ]]; do wait -n; done
    run "$language" &
done
wait

passed=0 failed=0 skipped=0
for language in ${*:-$LANGUAGES}; do
    read -r status seconds <"$work/$language.ended"
    case $status in
    0)
        echo "✔ $language: ${seconds} s"
        passed=$((passed + 1))
        ;;
    "$NOT_RUN")
        tail -n 20 -- "$work/$language.log"
        printf '\n*** %s: SKIPPED, its toolchain cannot be installed here (above). This is no pass. ***\n\n' "$language" >&2
        skipped=$((skipped + 1))
        ;;
    *)
        cat -- "$work/$language.log"
        echo "✘ $language: see above"
        failed=$((failed + 1))
        ;;
    esac
done
[[ $failed -eq 0 ]] || exit 1
if [[ $skipped -gt 0 && -n ${CI:-} ]]; then
    echo "in CI no language may be skipped" >&2
    exit 1
fi
[[ $passed -gt 0 ]] || exit "$NOT_RUN"
