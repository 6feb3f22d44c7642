"""``lobu-provider path``: where the files are that other programs are pointed at."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import click

import lobu_provider
from lobu_provider.cli.common import Command


class _File(NamedTuple):
    inside: str
    """Path inside the package."""
    about: str


FILES: Final = {
    "hook": _File("hook/lobu_hook.py", "what promptfoo loads as the provider (default)"),
    "extension": _File("hook/lobu_extension.py", "what promptfoo runs around a whole run"),
    "assertions": _File("hook/lobu_assertions.py", "what promptfoo loads for assertions"),
    "transforms": _File(
        "hook/lobu_transforms.py", "what promptfoo loads for transforms of retrieval and rubrics"
    ),
    "schema": _File("config/config.schema.json", "JSON schema of the provider's config block"),
}
"""Everything that can be asked for; a new file is a row here."""

_HELP: Final = """Print the path of a file that comes with lobu-provider, and nothing else.

\b
{files}

\b
Example:
  export LOBU_PROVIDER_HOOK="$(lobu-provider path)"
  # and in promptfooconfig.yaml:  id: 'file://{{{{env.LOBU_PROVIDER_HOOK}}}}'
  export LOBU_EXTENSION="$(lobu-provider path extension)"
  export LOBU_ASSERTIONS="$(lobu-provider path assertions)"
  export LOBU_TRANSFORMS="$(lobu-provider path transforms)"

Exit codes: 0 printed, 2 no such name.
""".format(files="\n".join(f"{name:<10} {file.about}" for name, file in FILES.items()))


@click.command(
    cls=Command, help=_HELP, short_help="Print where the files for promptfoo and the schema are."
)
@click.argument("name", type=click.Choice(list(FILES)), default="hook")
def path(name: str) -> None:
    """Print the path of one of :data:`FILES`."""
    click.echo(Path(lobu_provider.__file__).parent / FILES[name].inside)
