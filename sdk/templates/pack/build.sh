#!/bin/sh
# Builds and tests the plugins, and makes the archive of the pack: build.sh [--key FILE …]
#
# What follows is passed on to `gpud pack build`. GPUD names another gpud than the one in PATH.
set -eu
cd "$(dirname "$0")"
gpud=${GPUD:-gpud}

mkdir -p pack/plugins
for project in plugins/*/; do
    "$gpud" plugin build "$project"
    "$gpud" plugin test --no-build "$project"
    component=$(sed -n 's/^component: *//p' "$project/gpud-plugin.yaml")
    cp "$project/$component" pack/plugins/
done
"$gpud" pack build pack "$@"
