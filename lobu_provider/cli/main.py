"""The command group. A command's module is imported when the command is asked for."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Final, NoReturn

import click

from lobu_provider.cli.common import EXIT_CODES, ExitCode, say

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
    if sys.stdout is None:
        _end_unheard("it is closed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli(prog_name="lobu-provider")
    except OSError as exc:
        if exc.errno not in _UNWRITABLE or exc.filename is not None:
            raise
        _end_unheard(exc.strerror or str(exc))


_UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Of a disk that is full, a terminal that is gone, a descriptor that is not for writing. A pipe
that nobody reads is click's business: it ends with 1 and without a word."""


def _end_unheard(reason: str) -> NoReturn:
    with suppress(OSError):  # nobody to be told either
        say(
            f"error: The output cannot be written: {reason}. Send stdout to a file or to /dev/null."
        )
    for descriptor in (1, 2):  # else Python tries once more to write what is left, and complains
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != descriptor:
            os.dup2(nothing, descriptor)
            os.close(nothing)
    raise SystemExit(ExitCode.USAGE)
