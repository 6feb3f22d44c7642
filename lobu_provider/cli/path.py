"""``lobu-provider path``: where the files are that other programs are pointed at."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

import lobu_provider
from lobu_provider.cli.common import Command

FILES: Final = {
    "hook": "hook/lobu_hook.py",
    "schema": "config/config.schema.json",
}
"""Name to the file inside the package."""


@click.command(cls=Command, short_help="Print where the hook file or the config schema is.")
@click.argument("name", type=click.Choice(sorted(FILES)), default="hook")
def path(name: str) -> None:
    """Print the path of a file that comes with lobu-provider, and nothing else.

    \b
    hook    what promptfoo loads as the provider (default)
    schema  JSON schema of the provider's config block, for editors

    \b
    Example:
      export LOBU_PROVIDER_HOOK="$(lobu-provider path)"
      # and in promptfooconfig.yaml:  id: 'file://{{env.LOBU_PROVIDER_HOOK}}'

    Exit codes: 0 printed, 2 no such name.
    """
    click.echo(Path(lobu_provider.__file__).parent / FILES[name])
