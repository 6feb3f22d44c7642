# What the scripts share; read with `.`, from the top of the repository.
# shellcheck shell=sh

OLD_NODES='^20.20 || >=22.22'
NEW_NODES='>=22.22'

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# ---- Python

# True if the command is a Python that we run on and that can make a virtual environment.
python_fits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

python_can_make_venvs() {
    "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# "3.11.7", or "no Python"
python_version() {
    "$1" -c 'import platform; print(platform.python_version())' 2>/dev/null || echo "no Python"
}

# Prints the command of a fitting Python: $PYTHON if set, else the first one found.
find_python() {
    found=
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11 python3.10; do
        if python_fits "$candidate"; then
            if python_can_make_venvs "$candidate"; then
                printf '%s\n' "$candidate"
                return 0
            fi
            die "Python >= 3.10 with the venv module is needed: $candidate ($(python_version "$candidate")) lacks it; on Debian or Ubuntu install the package python3-venv, or name another with PYTHON=..."
        fi
        if command -v "$candidate" >/dev/null 2>&1 || [ -n "${PYTHON:-}" ]; then
            found="$found${found:+, }$candidate is $(python_version "$candidate")"
        fi
        [ -z "${PYTHON:-}" ] || break
    done
    die "Python >= 3.10 is needed (${found:-none found}): get one from https://www.python.org/downloads/ and name it with PYTHON=..."
}

venv_python() {
    printf '%s/bin/python\n' "${VENV:-.venv}"
}

# True if the virtual environment is there and is one that we and $PYTHON (if set) want.
venv_fits() {
    python_fits "$(venv_python)" || return 1
    [ -z "${PYTHON:-}" ] || [ "$(python_version "$PYTHON")" = "$(python_version "$(venv_python)")" ]
}

# ---- Node and promptfoo

# "20.20.2", or nothing when there is no Node
node_version() {
    node --version 2>/dev/null | sed -n 's/^v\([0-9][0-9.]*\).*$/\1/p'
}

# Which Nodes a promptfoo version takes.
node_range() {
    case $1 in
    0.[0-9].* | 0.[0-9][0-9].* | 0.1[01][0-9].* | 0.12[01].*) printf '%s\n' "$OLD_NODES" ;;
    *) printf '%s\n' "$NEW_NODES" ;;
    esac
}

# True if the Node on PATH runs that promptfoo version.
node_fits() {
    node=$(node_version)
    major=${node%%.*}
    minor=${node#*.}
    minor=${minor%%.*}
    case $major:$minor in
    20:*) [ "$minor" -ge 20 ] && [ "$(node_range "$1")" = "$OLD_NODES" ] ;;
    22:*) [ "$minor" -ge 22 ] ;;
    [0-9]:* | 1[0-9]:* | 21:* | :*) false ;;
    *) true ;;
    esac
}

node_needed() {
    node=$(node_version)
    die "promptfoo $1 needs Node $(node_range "$1") (found: ${node:-none}): get one from https://nodejs.org/en/download or with 'nvm install 24'."
}

promptfoo_dir() {
    printf '.tools/promptfoo-%s\n' "$1"
}

# True if the version is installed and a Node for it is there. $2 is where Node comes from:
# `system` or `any`: the one on PATH unless the folder has its own; `own`: only its own.
promptfoo_ready() {
    dir=$(promptfoo_dir "$1")
    [ -x "$dir/run" ] || return 1
    [ -e "$dir/own-node" ] && return 0
    [ "$2" != own ] && node_fits "$1"
}

# promptfoo writes its database, cache and logs here, never to the home folder.
quiet_promptfoo() {
    PROMPTFOO_CONFIG_DIR=$1
    PROMPTFOO_DISABLE_TELEMETRY=1
    PROMPTFOO_DISABLE_UPDATE=1
    PROMPTFOO_DISABLE_REMOTE_GENERATION=true
    NODE_NO_WARNINGS=1
    export PROMPTFOO_CONFIG_DIR PROMPTFOO_DISABLE_TELEMETRY PROMPTFOO_DISABLE_UPDATE
    export PROMPTFOO_DISABLE_REMOTE_GENERATION NODE_NO_WARNINGS
}

# True if something listens on that port already; asked of Node, which promptfoo listens with.
port_is_busy() {
    node -e '
        require("net").createServer()
            .once("error", (error) => process.exit(error.code === "EADDRINUSE" ? 0 : 1))
            .listen(Number(process.argv[1]), () => process.exit(1))
    ' "$1" 2>/dev/null
}
