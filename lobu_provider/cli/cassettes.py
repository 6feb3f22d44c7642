"""``lobu-provider cassettes``: look at recorded conversations, clear up, convert."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lobu_provider.cli.common import Command, ExitCode, print_json, printable, say
from lobu_provider.cli.workflow_commands import without_commands

if TYPE_CHECKING:
    from lobu_provider.cassettes.reading import Cassette

_FOLDER = click.argument(
    "folder",
    default="cassettes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
_FILE = click.argument("cassette", type=click.Path(exists=True, dir_okay=False, path_type=Path))


def _shown(text: str) -> str:
    return printable(without_commands(text))


@click.group(short_help="List, show, prune, convert and import recorded conversations.")
def cassettes() -> None:
    """Look at recorded conversations. FOLDER is ./cassettes unless given.

    \b
    Example:
      lobu-provider cassettes list

    Exit codes: 0 done; 1 a cassette cannot be read; 2 wrong option, or no such file.
    """


@cassettes.command("list", cls=Command, short_help="One line for each cassette.")
@_FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print a list as JSON.")
def list_(folder: Path, as_json: bool) -> None:
    """List the cassettes of FOLDER and the folders below, with what is wrong with any."""
    from lobu_provider.cassettes.reading import CassetteFault, read_cassette
    from lobu_provider.cassettes.shelf import Shelf

    rows: list[dict[str, Any]] = []
    for path in Shelf(folder).files():
        row: dict[str, Any] = {"file": path.relative_to(folder).as_posix()}
        try:
            cassette = read_cassette(path)
            row |= {
                "description": cassette.about.get("description"),
                "agent": cassette.about.get("agent"),
                "turns": len(cassette.about.get("turns") or []),
                "recordedAt": cassette.recorded_at,
                "bytes": path.stat().st_size,
            }
        except CassetteFault as exc:
            row["fault"] = str(exc)
        rows.append(row)
    if as_json:
        print_json(rows)
    for row in [] if as_json else rows:
        told = row.get("fault") or f"{row['turns']} turns, {row['agent']}, {row['recordedAt']}"
        click.echo(_shown(f"{row['file']}: {told}"))
    if any("fault" in row for row in rows):
        raise click.exceptions.Exit(ExitCode.FAILED)


@cassettes.command(cls=Command, short_help="A cassette as the conversation that it is.")
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(cassette: Path, as_json: bool) -> None:
    """Show what was said, which tools were called, and how each turn ended."""
    from lobu_provider.drift.told_turns import told_by
    from lobu_provider.json_safe import json_safe, json_words

    read = _read(cassette)
    told = told_by(read)
    rows: list[dict[str, Any]] = [
        {
            "turn": number,
            "user": turn.user_text,
            "toolCalls": [{"name": c.name, **json_safe(dict(c.data))} for c in turn.tool_calls],
            "output": turn.output,
            "error": None if turn.failure is None else str(turn.failure),
        }
        for number, turn in enumerate(told.turns, start=1)
    ]
    failed = None if told.failure is None else str(told.failure)
    if as_json:
        about = dict(read.about)
        print_json({**about, "recordedAt": read.recorded_at, "told": rows, "error": failed})
        return
    title = read.about.get("description") or cassette.name
    click.echo(_shown(f"{title}\n{read.about.get('agent')}, recorded {read.recorded_at}"))
    for row in rows:
        click.echo(_shown(f"\n[{row['turn']}] user: {row['user']}"))
        for call in row["toolCalls"]:
            end = " (failed)" if call.get("isError") else ""
            click.echo(_shown(f"    {call['name']} {json_words(call.get('input'))}{end}"))
        click.echo(_shown(f"    agent: {row['output']}"))
        if row["error"]:
            click.echo(_shown(f"    {row['error']}"))
    if failed:
        click.echo(_shown(f"\n{failed}"))


@cassettes.command(cls=Command, short_help="Remove what the last run did not use.")
@_FOLDER
@click.option("--yes", is_flag=True, help="Remove them; without it they are only listed.")
def prune(folder: Path, yes: bool) -> None:
    """Find the cassettes that the last promptfoo run with FOLDER neither wrote nor played.

    Let that be a run of the whole suite: after --filter-first-n 1 all others are unused. Only what
    ran on this machine is known, and only in FOLDER itself: name a set's own folder for a set.
    """
    from lobu_provider.cassettes.shelf import Shelf
    from lobu_provider.cassettes.uses import used_by_last_run

    used = used_by_last_run(folder)
    if used is None:
        say(f"No run that used {folder} is known here. Run the suite once, then prune.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    unused = [p for p in Shelf(folder).files() if p.parent == folder and p.name not in used]
    for path in unused:
        click.echo(_shown(str(path)))
        if yes:
            path.unlink(missing_ok=True)
    what = "removed" if yes else "not used by the last run; --yes removes them"
    say(f"{len(unused)} {what}. {len(used)} were used.")


@cassettes.command("to-script", cls=Command, short_help="A script for the embedded gateway.")
@_FILE
def to_script(cassette: Path) -> None:
    """Print a script in which each message gets the turn that it got, to be edited.

    \b
    Example:
      lobu-provider cassettes to-script cassettes/refund-0123456789ab.jsonl > refund.json
      lobu-provider ask --gateway script:refund.json --agent support-agent "Refund order 17"
    """
    from lobu_provider.drift.scripts import script_of

    print_json(script_of(_read(cassette)))


@cassettes.command("import", cls=Command, short_help="Raw recordings as cassettes.")
@click.argument(
    "recordings",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--to",
    "folder",
    default="cassettes",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where to write them. Default: ./cassettes.",
)
def import_(recordings: tuple[Path, ...], folder: Path) -> None:
    """Make cassettes of raw recordings: NAME.json with the requests, NAME.sse beside it.

    docs/cassettes.md tells what they hold. Nothing is said of when the events came, so their
    gateway's own timestamps stand in.
    """
    from lobu_provider.drift.raw_recordings import RawFault, imported

    failed = False
    for path in recordings:
        try:
            written = imported(path, folder)
            click.echo(_shown(str(written.path)))
            if written.replaces:
                say(f"{path}: it took the place of a recording of the same conversation.")
        except RawFault as exc:
            failed = True
            say(f"{path}: {exc}")
    if failed:
        raise click.exceptions.Exit(ExitCode.FAILED)


def _read(path: Path) -> Cassette:
    from lobu_provider.cassettes.reading import CassetteFault, read_cassette

    try:
        return read_cassette(path)
    except CassetteFault as exc:
        say(f"{path}: {exc}")
        raise click.exceptions.Exit(ExitCode.FAILED) from None
