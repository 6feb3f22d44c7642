"""``lobu-provider init``: the files of a first evaluation."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from lobu_provider.cli.common import Command, print_json, printable
from lobu_provider.cli.writing import refuse_to_overwrite, write_text
from lobu_provider.errors import config_error


@click.command(cls=Command, short_help="Write the files of a first evaluation.")
@click.option(
    "--agent",
    metavar="ID",
    help="The agent. Default: the folder agents/ID that you are in, the first of lobu.toml, the "
    "only one of the project, $LOBU_AGENT, support-agent.",
)
@click.option("--ci", is_flag=True, help="Also a GitHub Actions workflow that replays recordings.")
@click.option(
    "--shards",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="With --ci: run the tests on N machines at once. Default: 1.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print the written files as JSON.")
def init(agent: str | None, ci: bool, shards: int | None, force: bool, as_json: bool) -> None:
    """Write a promptfooconfig.yaml that runs at once, and what belongs to it.

    In a Lobu project (lobu.toml, or agents/ID/) the config goes to agents/ID/evals/, elsewhere to
    this folder. It has a conversation of two turns with tool assertions, and the hook around a run;
    agent-script.json beside it plays the agent until LOBU_GATEWAY names a real one. .gitignore gets
    a line for results. Nothing that exists is overwritten without --force.

    \b
    Examples:
      lobu-provider init
      lobu-provider init --agent support --ci --shards 4

    \b
    Exit codes:
      0  written
      2  a file exists already, the project has several agents, wrong option; nothing was written

    With --json stdout holds {agent, config, written, next}: the files, and the commands to run.
    """
    from lobu_provider.new_project.lobu_project import find_place
    from lobu_provider.new_project.starter import TESTS, ignore_line, starter_files, with_line

    if shards is not None and not ci:
        raise click.UsageError("--shards is a matter of the workflow; add --ci")
    place = find_place(Path.cwd(), agent)
    if place.agent is None:
        variable = os.environ.get("LOBU_AGENT", "").strip()
        place = find_place(Path.cwd(), variable or None)
    files = starter_files(place, ci=ci, shards=shards or 1)
    refuse_to_overwrite([file.path for file in files], force)
    ignore = place.root / ".gitignore"
    ignored = with_line(_text_of(ignore), ignore_line(place))
    for file in files:
        write_text(file.path, file.text)
    written = [file.path for file in files]
    if ignored is not None:
        write_text(ignore, ignored)
        written.append(ignore)
    config = files[0].path
    commands = _next(config, ci)
    if as_json:
        shown = [str(path) for path in written]
        print_json(
            {"agent": place.agent, "config": str(config), "written": shown, "next": commands}
        )
        return
    for path in written:
        click.echo(printable(f"wrote {_relative(path)}"))
    click.echo("\nRun it:")
    for command in commands:
        click.echo(printable(f"  {command}"))
    if shards is not None and shards > TESTS:
        click.echo(
            f"\nThe workflow cuts the tests into {shards} parts; the config has {TESTS} so far, "
            f"and needs at least {shards}."
        )


def _next(config: Path, ci: bool) -> list[str]:
    shown = shlex.quote(_relative(config))
    commands = [
        'export LOBU_PROVIDER_HOOK="$(lobu-provider path)"',
        'export LOBU_EXTENSION="$(lobu-provider path extension)"',
        'export LOBU_ASSERTIONS="$(lobu-provider path assertions)"',
        'export PROMPTFOO_PYTHON="$(command -v python3)"',
        f"npx promptfoo@latest eval -c {shown}",
    ]
    if ci:  # a pull request replays what is recorded, and has nothing to replay before
        commands.append(f"LOBU_CASSETTE_MODE=record npx promptfoo@latest eval -c {shown}")
    return commands


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise config_error(f"{path} cannot be read: {error}") from None
