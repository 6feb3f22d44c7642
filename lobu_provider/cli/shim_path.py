"""``lobu-provider shim-path``: where the npm package is."""

from __future__ import annotations

from pathlib import Path

import click

import lobu_provider
from lobu_provider.cli.common import Command, ExitCode, say


@click.command("shim-path", cls=Command, short_help="Print where the npm package is.")
def shim_path() -> None:
    """Print the folder of the npm package @lobu/promptfoo-provider, and nothing else.

    \b
    Example:
      npm install "$(lobu-provider shim-path)"
      # and in promptfooconfig.yaml:  id: 'package:@lobu/promptfoo-provider:LobuProvider'

    Exit codes: 0 printed, 2 this installation does not have it.
    """
    package = Path(lobu_provider.__file__).parent
    # In a clone it lies beside the Python package, in a wheel inside it.
    for folder in (package.parent / "node_shim", package / "node_shim"):
        if (folder / "bridge_process.js").is_file():
            click.echo(folder)
            return
    say("This installation lacks the npm package: install lobu-provider again, from its wheel.")
    raise click.exceptions.Exit(ExitCode.USAGE)
