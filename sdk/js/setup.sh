#!/bin/sh
# Installs what building and testing gpud plugins in JavaScript and TypeScript needs, as `package-lock.json` pins it.
# May be run again; what is there already stays. Needs Node.js 20 or later with npm.
set -eu
cd "$(dirname "$0")"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20)' 2>/dev/null || {
    echo "gpud's JavaScript SDK needs Node.js 20 or later" >&2
    exit 1
}
stamp=node_modules/.gpud-sdk.stamp
wanted=$(cat package.json package-lock.json | cksum)
if [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
# No package's own installation script is needed: the tools come as ready programs.
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
echo "$wanted" > "$stamp"
