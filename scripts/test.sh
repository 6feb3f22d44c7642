#!/bin/sh
# Every check there is, from nothing.
#   scripts/test.sh OLDEST_PROMPTFOO NEWEST_PROMPTFOO [pytest's arguments]
# pytest runs last and also when lint fails, so its summary always ends the output.
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

LOBU_TEST_PROMPTFOO_OLD=$(pwd)/$(promptfoo_dir "$oldest")/run
LOBU_TEST_PROMPTFOO_NEW=$(pwd)/$(promptfoo_dir "$newest")/run
export LOBU_TEST_PROMPTFOO_OLD LOBU_TEST_PROMPTFOO_NEW
tests=0
say "== pytest"
"$(venv_python)" -m pytest "$@" || tests=$?

[ "$lint" -eq 0 ] || say "The tests' result is above; lint failed before them."
[ "$tests" -ne 0 ] || tests=$lint
exit "$tests"
