#!/bin/sh
# Run the example with promptfoo, from nothing.
#   scripts/demo.sh VERSION [promptfoo's arguments]
# LOBU_GATEWAY, LOBU_TOKEN and LOBU_AGENT reach the example from the environment.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

version=$1
shift
config=${CONFIG:-examples/promptfooconfig.yaml}

# Say what is missing before minutes are spent.
[ -f "$config" ] || die "There is no $config: name a configuration with CONFIG=..."
promptfoo_ready "$version" system || node_fits "$version" || node_needed "$version"
venv_fits || find_python >/dev/null

if ! promptfoo_ready "$version" system || ! [ -x "$(venv_python)" ]; then
    say "Installing what the demo needs: about 2 minutes and 300 MB the first time, seconds after."
    export COST_IS_TOLD=yes
fi
scripts/venv.sh base
scripts/promptfoo.sh "$version" system

mkdir -p .demo
rm -f .demo/results.json
printf '%s\n' "$version" >.demo/promptfoo-version
quiet_promptfoo "$(pwd)/.demo/promptfoo"
case ${VENV:-.venv} in
/*) PROMPTFOO_PYTHON=$(venv_python) ;;
*) PROMPTFOO_PYTHON=$(pwd)/$(venv_python) ;;
esac
export PROMPTFOO_PYTHON

status=0
"$(promptfoo_dir "$version")/run" eval -c "$config" --no-share -o .demo/results.json "$@" || status=$?

if [ -f .demo/results.json ]; then
    echo "Results: .demo/results.json"
    echo "To look at them in the browser: make view${PORT:+ PORT=$PORT}"
else
    say "promptfoo ended with code $status and wrote no results."
    [ "$status" -ne 0 ] || status=1
fi
if [ "$status" -ne 0 ]; then
    [ ! -f .demo/results.json ] ||
        say "Not everything passed. The rows that failed are in .demo/results.json; 'make view' shows them."
    say "'${VENV:-.venv}/bin/lobu-provider doctor' checks the setup."
fi
exit "$status"
