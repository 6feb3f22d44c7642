"""``lobu-provider cases``: what a config will run, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lobu_provider.cli.common import Command, print_json, printable
from lobu_provider.errors import config_error

if TYPE_CHECKING:
    from lobu_provider.cli.checks.expansion import ExpandedTest, Expansion


@click.command(cls=Command, short_help="List what a promptfoo config will run.")
@click.argument(
    "config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=False,
    metavar="[CONFIG]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def cases(config: Path | None, as_json: bool) -> None:
    """List the tests of a promptfoo config as they will run, without running any.

    CONFIG is YAML or JSON; default: promptfooconfig.* in this folder. Lists in vars are split as
    promptfoo splits them; defaultTest, scenarios, files of tests (YAML, JSON, JSONL) and a file of
    turns (transcript: file://turns.yaml) are read in. Each test is shown with its turns, its
    assertions, its providers and how often it repeats.
    Reading YAML needs PyYAML: pip install 'lobu-provider[yaml]'

    \b
    Examples:
      lobu-provider cases
      lobu-provider cases agents/support/evals/promptfooconfig.yaml --json

    \b
    Exit codes:
      0  listed; notes tell what could not be counted
      2  no config, or one that cannot be read

    With --json stdout holds {config, rows, tests, notes}; a test has source, description, turns,
    assertions, providers, prompts, repeat, rows, threshold and vars.
    """
    from lobu_provider.cli.checks.config_file import find_config, read_config
    from lobu_provider.cli.checks.expansion import expand
    from lobu_provider.structured_file import UnreadableFileError

    path = config or find_config(Path())
    if path is None:
        raise config_error("no promptfooconfig.yaml or .json in this folder; name a file")
    try:
        found = expand(read_config(path))
    except UnreadableFileError as error:
        raise config_error(f"{error}. {error.fix}") from None
    if as_json:
        print_json(
            {
                "config": str(path),
                "rows": found.rows,
                "tests": [_as_json(test) for test in found.tests],
                "notes": found.notes,
            }
        )
    else:
        _tell(path, found)


def _as_json(test: ExpandedTest) -> dict[str, Any]:
    from lobu_provider.json_safe import json_safe

    return {
        "source": test.source,
        "description": test.description,
        "turns": test.turns,
        "assertions": test.assertions,
        "providers": test.providers,
        "prompts": test.prompts,
        "repeat": test.repeat,
        "rows": test.rows,
        "threshold": test.threshold,
        "vars": json_safe(dict(test.variables)),
    }


def _tell(path: Path, found: Expansion) -> None:
    def line(text: str) -> None:
        click.echo(printable(text))

    for number, test in enumerate(found.tests, 1):
        line(f"{number}. {test.description or '(no description)'}  [{test.source}]")
        times = [f"{test.prompts} prompts"] if test.prompts > 1 else []
        times += [f"repeat {test.repeat}"] if test.repeat > 1 else []
        named = ", ".join(test.providers) or "no provider"
        line(f"   {'; '.join([named, *times])}: {_count(test.rows, 'row')}")
        for turn, text in enumerate(test.turns, 1):
            line(f"   turn {turn}: {' '.join(text.split())}")
        for assertion in test.assertions:
            line(f"   - {assertion}")
        if test.threshold is not None:
            line(f"   passes from a score of {test.threshold}")
    for note in found.notes:
        line(f"note: {note}")
    line(f"{path}: {_count(len(found.tests), 'test')}, {_count(found.rows, 'row')}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
