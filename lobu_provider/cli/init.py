"""``lobu-provider init``: the files of a first evaluation."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from lobu_provider.cli.common import Command, print_json, printable
from lobu_provider.cli.writing import is_there, refuse_to_overwrite, write_text
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
    lines for results. Files that exist are kept, and told, without --force.

    \b
    Examples:
      lobu-provider init
      lobu-provider init --agent support --ci --shards 4

    \b
    Exit codes:
      0  what was missing is written
      2  all files exist already, the project has several agents, wrong option; nothing was written

    With --json stdout holds {agent, config, written, kept, next}: the files, and the commands to
    run.
    """
    from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE
    from lobu_provider.new_project.lobu_project import find_place
    from lobu_provider.new_project.starter import (
        CASSETTES,
        TESTS,
        ignore_lines,
        starter_files,
        with_lines,
    )

    if shards is not None and not ci:
        raise click.UsageError("--shards is a matter of the workflow; add --ci")
    place = find_place(Path.cwd(), agent)
    if place.agent is None:
        variable = os.environ.get("LOBU_AGENT", "").strip()
        place = find_place(Path.cwd(), variable or None)
    files = starter_files(place, promptfoo=FOR_ANY_NODE, ci=ci, shards=shards or 1)
    kept = [] if force else [file.path for file in files if is_there(file.path)]
    if len(kept) == len(files):
        refuse_to_overwrite(kept, force)
    ignore = place.root / ".gitignore"
    ignored = with_lines(_text_of(ignore), ignore_lines(place))
    written = [file.path for file in files if file.path not in kept]
    for file in files:
        if file.path in written:
            write_text(file.path, file.text)
    if ignored is not None:
        write_text(ignore, ignored)
        written.append(ignore)
    config = files[0].path
    commands = _next(config, ci)
    if as_json:
        print_json(
            {
                "agent": place.agent,
                "config": str(config),
                "written": [str(path) for path in written],
                "kept": [str(path) for path in kept],
                "next": commands,
            }
        )
        return
    for path in written:
        click.echo(printable(f"wrote {_relative(path)}"))
    for path in kept:
        click.echo(printable(f"kept {_relative(path)}, which was there (--force overwrites)"))
    if ci and config in kept and "cassettes:" not in _text_of(config):
        click.echo(f"\nThe workflow needs this line in {_relative(config)}, under config:")
        click.echo(CASSETTES, nl=False)
    click.echo("\nRun it:")
    for command in commands:
        click.echo(printable(f"  {command}"))
    if shards is not None and shards > TESTS and config not in kept:
        click.echo(
            f"\nThe workflow cuts the tests into {shards} parts; the config has {TESTS} so far, "
            f"and needs at least {shards}."
        )


def _next(config: Path, ci: bool) -> list[str]:
    from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE

    shown = shlex.quote(_relative(config))
    commands = [
        'export LOBU_PROVIDER_HOOK="$(lobu-provider path)"',
        'export LOBU_EXTENSION="$(lobu-provider path extension)"',
        'export LOBU_ASSERTIONS="$(lobu-provider path assertions)"',
        'export PROMPTFOO_PYTHON="$(command -v python3)"',
        f"npx promptfoo@{FOR_ANY_NODE} eval -c {shown}",
    ]
    if ci:  # a pull request replays what is recorded, and has nothing to replay before
        commands.append(f"LOBU_CASSETTE_MODE=record npx promptfoo@{FOR_ANY_NODE} eval -c {shown}")
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
