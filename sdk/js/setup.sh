#!/bin/sh
# Installs what building and testing gpud plugins in JavaScript and TypeScript needs, as `package-lock.json` pins it.
# May be run again; what is there already stays. Needs Node.js 20 or later with npm.
set -eu
cd "$(dirname "$0")"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || {
    echo "gpud's JavaScript SDK needs Node.js 20 or later" >&2
    exit 1
}
stamp=node_modules/.gpud-sdk.stamp
wanted=$(cat package.json package-lock.json | cksum)
if [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi
# Not `npm ci`: it refuses a lock file without the componentizer's packages for platforms that were never published.
# What the lock file has is installed as it says. No package's own script is needed: the tools are ready programs.
npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error
echo "$wanted" > "$stamp"
