"""The command group. A command's module is imported when the command is asked for."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Final

import click

from lobu_provider.cli.common import EXIT_CODES

_COMMANDS: Final = (
    "ask",
    "bless",
    "cases",
    "cassettes",
    "compare",
    "convert",
    "doctor",
    "drift",
    "explain",
    "init",
    "path",
    "record",
    "report",
    "serve",
    "shard",
    "shim-path",
    "stats",
)
"""Module and command have the same name, with an underscore where the command has a hyphen."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"lobu_provider.cli.{name}"), name)
        return command if isinstance(command, click.Command) else None


@click.group(
    cls=_LazyGroup,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="lobu-provider", message="%(prog)s %(version)s")
def cli() -> None:
    """Talk to a Lobu agent, find out why an evaluation of it does not run, and read its results.

    \b
    Try it without a gateway and without a token:
      lobu-provider ask --gateway script:demo --agent support-agent "What is your refund policy?"
    """


def main() -> None:
    """Run the command line; what the terminal cannot show is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="lobu-provider")
