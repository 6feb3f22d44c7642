#!/bin/sh
# Every check there is, from nothing.
#   scripts/test.sh OLDEST_PROMPTFOO NEWEST_PROMPTFOO [pytest's arguments]
# pytest runs last and also when something fails before it, so its summary always ends the output.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

oldest=$1
newest=$2
shift 2

scripts/venv.sh dev
scripts/promptfoo.sh "$oldest" any
scripts/promptfoo.sh "$newest" own

lint=0
scripts/lint.sh || lint=$?

nodes=0
LOBU_TEST_PYTHON=$(cd "$(dirname -- "$(venv_python)")" && pwd)/python
export LOBU_TEST_PYTHON
for node in "$(command -v node || :)" "$(pwd)/$(promptfoo_dir "$newest")"/node_modules/node*/bin/node; do
    if [ -x "$node" ] && (PATH=$(dirname -- "$node"):$PATH && node_fits "$oldest"); then
        say "== node --test, $("$node" --version)"
        "$node" --test --test-reporter=spec --test-timeout=60000 node_shim/test/*.test.js || nodes=$?
    fi
done

LOBU_TEST_PROMPTFOO_OLD=$(pwd)/$(promptfoo_dir "$oldest")/run
LOBU_TEST_PROMPTFOO_NEW=$(pwd)/$(promptfoo_dir "$newest")/run
# Without this a missing promptfoo would only be a skipped test.
LOBU_TEST_PROMPTFOO_REQUIRED=1
LOBU_TEST_ACTIONLINT=$(scripts/actionlint.sh)
export LOBU_TEST_PROMPTFOO_OLD LOBU_TEST_PROMPTFOO_NEW LOBU_TEST_PROMPTFOO_REQUIRED
export LOBU_TEST_ACTIONLINT
tests=0
say "== pytest"
"$(venv_python)" -m pytest "$@" || tests=$?

[ "$lint" -eq 0 ] || say "The tests' result is above; lint failed before them."
[ "$nodes" -eq 0 ] || say "The tests' result is above; the npm package's own tests failed before them."
[ "$tests" -ne 0 ] || tests=$((lint + nodes))
exit "$tests"
