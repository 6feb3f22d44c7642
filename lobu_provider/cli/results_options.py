"""What the commands on results files share: arguments, options, and how a fault is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from lobu_provider.cli.common import Command, ExitCode, say
from lobu_provider.cli.workflow_commands import without_commands

_F = TypeVar("_F", bound=Callable[..., Any])


class ResultsCommand(Command):
    """A command on results files; a file that cannot be read is one message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from lobu_provider.results.faults import ResultsError, UnfinishedResultsError

        try:
            return super().invoke(ctx)
        except ResultsError as error:
            tell(f"error: {error}")
            unfinished = isinstance(error, UnfinishedResultsError)
            ctx.exit(ExitCode.GATEWAY if unfinished else ExitCode.USAGE)


class _Share(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.2
    name = "share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            self.fail(f"{value!r} is no share: write 0.9 or 90%.", param, ctx)
        return number


FILE: Final = click.Path(path_type=Path, dir_okay=False)

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)
shards_option = click.option(
    "--shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many results files there must be. Without it a missing shard is noticed by the "
    "ranges that promptfoo notes, if the last one has no end.",
)


def results_argument(command: _F) -> _F:
    """Add the files, read as one run."""
    return click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=FILE)(
        command
    )


def rate_options(command: _F) -> _F:
    """Add the two pass rates that can be asked for."""
    for option in (
        click.option(
            "--min-test-pass-rate",
            type=_Share(),
            metavar="SHARE",
            help="What share of a test's judged rows must pass, for each test: 0.6 or 60%.",
        ),
        click.option(
            "--min-pass-rate",
            type=_Share(),
            metavar="SHARE",
            help="What share of all judged rows must pass: 0.9 or 90%.",
        ),
    ):
        command = option(command)
    return command


def print_lines(lines: Iterable[str]) -> None:
    """Print a document for people on stdout; nothing in it is a command to GitHub Actions."""
    for line in lines:
        click.echo(without_commands(line))


def tell(text: str) -> None:
    """Tell a person on stderr; nothing in it is a command to GitHub Actions."""
    say(without_commands(text))


def refuse_overwriting(results: Sequence[Path], *targets: Path | None) -> None:
    """Refuse to write over a file that is read, or over one that was just written.

    Raises:
        click.UsageError: a target is one of the results, or another target.
    """
    taken = {path.resolve() for path in results}
    written = set[Path]()
    for target in targets:
        if target is None:
            continue
        place = target.resolve()
        if place in taken:
            raise click.UsageError(f"{target} holds the results; write to another file.")
        if place in written and not _is_no_plain_file(place):
            raise click.UsageError(f"{target} is to be written twice; name two files.")
        written.add(place)


def make_folder(path: Path) -> None:
    """Make the folder of a file that is about to be written.

    Raises:
        ResultsError: the system does not let us.
    """
    from lobu_provider.results.faults import ResultsError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error.strerror}") from None


def _is_no_plain_file(path: Path) -> bool:
    """Whether it is there and nothing can be kept in it, such as a device."""
    return path.exists() and not path.is_file()


def write_lines(path: Path, lines: Iterable[str], *, append: bool = False) -> None:
    """Write a document to a file, which keeps what it had until all of it is written.

    Raises:
        ResultsError: the file cannot be written.
    """
    from lobu_provider.results.faults import ResultsError

    in_place = append or _is_no_plain_file(path)
    target = path if in_place else path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with target.open("a" if append else "w", encoding="utf-8", newline="\n") as out:
            out.writelines(f"{line}\n" for line in lines)
        if not in_place:
            target.replace(path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        if not in_place:
            target.unlink(missing_ok=True)
