#!/bin/sh
# ruff and mypy; all of them run, and the last line names those that complained.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

python=$(venv_python)
failed=

check() {
    say "== $*"
    "$python" -m "$@" || failed="$failed${failed:+, }$1 ${2:-}"
}

check ruff check .
check ruff format --check .
check mypy
[ -z "$failed" ] || die "Not clean: $failed"
