#!/bin/sh
# Show the demo's results in promptfoo's web page.
#   scripts/view.sh [promptfoo's arguments]
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

port=${PORT:-15500}
case $port in
*[!0-9]* | 0* | ??????*) die "PORT must be a number from 1 to 65535, as in 'make view PORT=15501'; got: $port" ;;
esac
[ "$port" -le 65535 ] || die "PORT must be a number from 1 to 65535, as in 'make view PORT=15501'; got: $port"

[ -f .demo/promptfoo-version ] || die "There are no results yet: run 'make demo' first."
version=$(cat .demo/promptfoo-version)
scripts/promptfoo.sh "$version" system
quiet_promptfoo "$(pwd)/.demo/promptfoo"

if port_is_busy "$port"; then
    free=15501
    [ "$port" -ne "$free" ] || free=15502
    die "Port $port is busy: make view PORT=$free"
fi
say "http://localhost:$port (promptfoo listens on every network interface; Ctrl-C ends it)"
if [ -t 0 ] && [ -t 1 ]; then
    exec "$(promptfoo_dir "$version")/run" view --port "$port" "$@"
fi
exec "$(promptfoo_dir "$version")/run" view --port "$port" --no "$@"
