"""``lobu-provider drift``: how the agent's behaviour changed between two recordings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from lobu_provider.cli.common import Command, ExitCode, print_json, printable, say
from lobu_provider.cli.workflow_commands import without_commands

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


_F = TypeVar("_F", bound=Callable[..., Any])


def drift_options(before: str = "") -> Callable[[_F], _F]:
    """Add the options of :func:`report_drift`.

    Args:
        before: what each help begins with, in a command for which they do not always count.
    """

    def described(text: str) -> str:
        return f"{before}{text}" if before else f"{text[0].upper()}{text[1:]}"

    options = [
        click.option(
            "--text", "with_text", is_flag=True, help=described("compare the answers' words too.")
        ),
        click.option(
            "--json", "as_json", is_flag=True, help=described("print a list of cases as JSON.")
        ),
        click.option(
            "--junit",
            "junit_path",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help=described("write a JUnit file; what drifted is a failure with its reasons."),
        ),
        click.option(
            "--strict", is_flag=True, help=described("exit with 1 where anything drifted.")
        ),
    ]

    def add(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


@click.command(cls=Command, short_help="Compare two folders of cassettes.")
@click.argument("old", type=_FOLDER)
@click.argument("new", type=_FOLDER)
@drift_options()
def drift(
    old: Path, new: Path, with_text: bool, as_json: bool, junit_path: Path | None, strict: bool
) -> None:
    """Compare the cassettes of OLD with those of NEW: the same conversations, recorded again.

    For each turn: the names of the tools in order, their arguments (whatever the order of keys),
    which failed, how the turn ended, the cards, whether a final text came.

    \b
    Example:
      lobu-provider drift cassettes /tmp/tonight --junit drift.xml

    Exit codes: 0 compared, 1 with --strict where something drifted, is missing or cannot be
    read, 2 wrong option or folder.
    """
    has_drifted = report_drift(
        old, new, with_text=with_text, as_json=as_json, junit_path=junit_path
    )
    if strict and has_drifted:
        raise click.exceptions.Exit(ExitCode.FAILED)


def report_drift(
    old: Path,
    new: Path,
    *,
    with_text: bool,
    as_json: bool,
    junit_path: Path | None,
    sets: frozenset[str] | None = None,
) -> bool:
    """Compare, print and write.

    Args:
        old: a folder of cassettes.
        new: another.
        with_text: compare the answers too.
        as_json: print JSON instead of a table.
        junit_path: a file to write as well.
        sets: as for :func:`drift_of_folders`.

    Returns:
        Whether anything drifted, is missing or cannot be read.
    """
    from lobu_provider.drift.folders import drift_of_folders, drifted
    from lobu_provider.drift.reports import junit, table

    cases = drift_of_folders(old, new, with_text=with_text, sets=sets)
    if all(case.status == "new" for case in cases):
        say(
            f"error: {old} holds no cassette, so there is nothing to compare with. Record first, "
            "or name the folder of the committed ones."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)
    if as_json:
        print_json([case.told() for case in cases])
    else:
        click.echo(printable(without_commands(table(cases))))
    if junit_path is not None:
        try:
            junit_path.write_text(junit(cases), "utf-8")
        except OSError as exc:
            say(f"error: {junit_path} cannot be written: {exc.strerror or exc}.")
            raise click.exceptions.Exit(ExitCode.USAGE) from None
    return any(drifted(cases))
