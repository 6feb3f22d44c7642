#!/bin/sh
# Show the demo's results in promptfoo's web page.
#   scripts/view.sh [promptfoo's arguments]
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

[ -f .demo/promptfoo-version ] || die "There are no results yet: run 'make demo' first."
version=$(cat .demo/promptfoo-version)
scripts/promptfoo.sh "$version" system
quiet_promptfoo "$(pwd)/.demo/promptfoo"

port=${PORT:-15500}
say "http://localhost:$port (promptfoo listens on every network interface; Ctrl-C ends it)"
if [ -t 0 ] && [ -t 1 ]; then
    exec "$(promptfoo_dir "$version")/run" view --port "$port" "$@"
fi
exec "$(promptfoo_dir "$version")/run" view --port "$port" --no "$@"
