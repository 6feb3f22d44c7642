#!/bin/sh
# Make the virtual environment and install this package into it, editable.
#   scripts/venv.sh base|dev
# Quick when nothing changed: a stamp in the environment, written last, says what is installed.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

kind=$1
venv=${VENV:-.venv}
python=$(venv_python)
stamp=$venv/.installed-$kind

wanted() {
    printf '%s\n%s\n%s\n' "$(pwd)" "$(python_version "$python")" "$(cksum <pyproject.toml)"
}

if venv_fits && [ -f "$stamp" ] && [ "$(wanted)" = "$(cat "$stamp")" ]; then
    exit 0
fi

if ! venv_fits || ! "$python" -m pip --version >/dev/null 2>&1; then
    base=$(find_python)
    case $venv in
    .venv*) ;;
    *) # making it anew empties the folder, so be sure of what it is
        if [ -e "$venv" ] && [ ! -f "$venv/pyvenv.cfg" ]; then
            die "$venv exists and is not a virtual environment: name another folder with VENV=..."
        fi
        ;;
    esac
    say "Making $venv with $base ($(python_version "$base"))"
    "$base" -m venv --clear "$venv"
fi

rm -f "$venv"/.installed-*
case $kind in
base) what=. ;;
*) what=".[$kind]" ;;
esac
say "Installing lobu-provider into $venv ($kind)"
"$python" -m pip install --quiet --disable-pip-version-check --no-input --editable "$what"

wanted >"$stamp.tmp"
mv "$stamp.tmp" "$stamp"
[ "$kind" = base ] || cp "$stamp" "$venv/.installed-base"
