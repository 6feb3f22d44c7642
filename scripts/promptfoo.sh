#!/bin/sh
# Install one version of promptfoo into .tools/promptfoo-VERSION/, with a command `run` in it.
#   scripts/promptfoo.sh VERSION [system|any|own]
# Node comes from PATH (system), from PATH if that one fits and else from npm (any), or always
# from npm (own).
#
# It is installed without its optional packages, which are four fifths of its size. One of them is
# needed after all, the database driver for this platform; if that can't be had, all are installed.
# The work is done in a folder beside the final one and renamed when it runs, so an install that
# was interrupted is never taken for a whole one.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
# shellcheck source=scripts/lib.sh
. scripts/lib.sh

NODE_MAJOR=24

version=$1
source=${2:-system}
dir=$(promptfoo_dir "$version")

if promptfoo_ready "$version" "$source"; then
    exit 0
fi

own_node=
case $source in
own) own_node=yes ;;
any) node_fits "$version" || own_node=yes ;;
*) node_fits "$version" || node_needed "$version" ;;
esac
command -v npm >/dev/null 2>&1 ||
    die "npm is needed to install promptfoo, and is not on PATH: it comes with Node from https://nodejs.org/en/download."

for old in .tools/.promptfoo-*; do # what a killed run of this script left
    if [ -d "$old" ] && ! kill -0 "${old##*.}" 2>/dev/null; then
        rm -rf "$old"
    fi
done

part=.tools/.promptfoo-$version.$$
trap 'rm -rf "$part"' EXIT
trap 'exit 130' HUP INT TERM
mkdir -p "$part"

npm_install() {
    (cd "$part" && npm install --no-audit --no-fund --no-progress --no-update-notifier --loglevel=error "$@" </dev/null >&2)
}

empty() {
    rm -rf "$part/node_modules" "$part/package-lock.json"
    printf '{"name": "promptfoo-for-lobu-provider", "private": true}\n' >"$part/package.json"
}

# The npm package `node` only fetches one of these, in an install script, which npm may not run.
node_package() {
    node -p '(process.platform === "darwin" && process.arch === "arm64" ? "node-bin-" : "node-")
        + process.platform + "-" + process.arch'
}

# The package that libsql misses on this platform, as name@version; nothing if it misses none.
missing_driver() {
    (cd "$part" && "$node" -e '
        try { require("libsql"); } catch (error) {
            const name = /@libsql\/[a-z0-9-]+/.exec(error.message)[0];
            const version = require("./node_modules/libsql/package.json").optionalDependencies[name];
            if (!version) process.exit(1);
            console.log(name + "@" + version);
        }' 2>/dev/null)
}

write_run() {
    entry=$(cd "$part" && "$node" -p 'require("./node_modules/promptfoo/package.json").bin.promptfoo')
    cat >"$part/run" <<END
#!/bin/sh
# promptfoo $version, written by scripts/promptfoo.sh
here=\$(CDPATH='' cd -- "\$(dirname -- "\$0")" && pwd)
exec $run_node "\$here/node_modules/promptfoo/$entry" "\$@"
END
    chmod +x "$part/run"
}

starts() {
    write_run && (
        quiet_promptfoo "$(pwd)/$part/config"
        "$part/run" --version >"$part/version.log" 2>&1 </dev/null
    )
}

slim() {
    driver=$(missing_driver) || return 1
    if [ -n "$driver" ]; then
        npm_install --omit=optional "$driver" || return 1
    fi
    starts
}

cost=' (about 300 MB, a minute)'
[ -z "${COST_IS_TOLD:-}" ] || cost=
say "Installing promptfoo $version into $dir, without its optional packages$cost"
empty
if [ -n "$own_node" ]; then
    package=$(node_package)
    npm_install --omit=optional "promptfoo@$version" "$package@$NODE_MAJOR"
    node=$(pwd)/$part/node_modules/$package/bin/node
    run_node="\"\$here/node_modules/$package/bin/node\""
    "$node" --version >/dev/null || die "The Node of the npm package $package does not run here: install Node $(node_range "$version") yourself."
    : >"$part/own-node"
else
    npm_install --omit=optional "promptfoo@$version"
    node=node
    run_node=node
fi

if ! slim; then
    say "That one does not start on this platform: installing promptfoo $version with everything (about 2 GB, minutes)"
    empty
    npm_install "promptfoo@$version" ${own_node:+"$package@$NODE_MAJOR"}
    if ! starts; then
        cat "$part/version.log" >&2
        die "promptfoo $version is installed but does not start; the reason is above."
    fi
fi

rm -rf "$part/config" "$part/version.log" "$dir"
mv "$part" "$dir"
say "Installed promptfoo $version${own_node:+ with its own Node $("$dir/node_modules/$package/bin/node" --version)}"
