#!/bin/sh
# Runs tests of gpud-exports that need a real server, whose addresses the caller has put into the environment.
#
#   tests/real.sh rows::
set -eu
cd "$(dirname "$0")/.."
# As `cargo xtask test` builds them, so that nothing is compiled twice.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver
export CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
exec "${CARGO:-cargo}" test --locked --workspace --test real "$1" -- --ignored --nocapture
