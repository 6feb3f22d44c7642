"""The command that runs an explained test again, and the config that it needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from lobu_provider.results.files import FileFacts
    from lobu_provider.results.rerun import Rerun
    from lobu_provider.results.rows import Row
    from lobu_provider.results.runs import Test


class Again(NamedTuple):
    """How to run a test again."""

    rerun: Rerun
    is_config_known: bool
    """Whether the command's config file is the one that has the test, as far as can be told."""


class _Tests(NamedTuple):
    """A config's tests before expansion."""

    own: list[Any]
    of_scenarios: list[Any]


def command_again(
    row: Row,
    whole: Mapping[str, Any],
    tests: Sequence[Test],
    facts: FileFacts,
    config_path: Path | None,
) -> Again:
    """Return the command for a row.

    Args:
        row: the row to run again.
        whole: the same as promptfoo wrote it.
        tests: all tests of the run.
        facts: of the file that holds the row.
        config_path: the config file, where the user named it.

    Raises:
        click.UsageError: that config file cannot be read.
    """
    from lobu_provider.results.rerun import rerun_command

    of_config = _named_config(config_path) if config_path else _config_of_folder(whole)
    known = of_config or _tests_of_results(facts)
    again = rerun_command(
        whole,
        known.own if known else None,
        scenario_tests=known.of_scenarios if known else (),
        config=str(config_path) if config_path else None,
        several_providers=len({one.column.provider for one in tests}) > 1,
        several_prompts=len({one.column.prompt for one in tests}) > 1,
    )
    of_one_name = {one.column.provider for one in tests if one.first.provider == row.provider}
    if len(of_one_name) > 1:  # promptfoo selects all of them
        again = again._replace(is_exact=False)
    return Again(again, config_path is not None or of_config is not None)


def _named_config(path: Path) -> _Tests | None:
    from lobu_provider.structured_file import UnreadableFileError

    try:
        return _tests_of(path)
    except UnreadableFileError as error:
        raise click.UsageError(f"{error}. {error.fix}") from None


def _config_of_folder(row: Mapping[str, Any]) -> _Tests | None:
    """Return the tests of the config that promptfoo finds here, if the row's test is one of its
    own; what cannot be read is not it."""
    from lobu_provider.cli.checks.config_file import find_config
    from lobu_provider.results.outcomes import mapping
    from lobu_provider.results.rerun import place_of_test
    from lobu_provider.structured_file import UnreadableFileError

    path = find_config(Path())
    try:
        found = _tests_of(path) if path is not None else None
    except UnreadableFileError:
        return None
    if found is None or place_of_test(mapping(row.get("testCase")), found.own) is None:
        return None
    return found


def _tests_of(path: Path) -> _Tests | None:
    """Return the tests of a config; ``None`` where only promptfoo can read some of them.

    Raises:
        UnreadableFileError: the file cannot be read.
    """
    from lobu_provider.cli.checks.config_file import read_config

    config = read_config(path)
    scenarios = config.data.get("scenarios") or []
    is_inline = isinstance(scenarios, list) and all(isinstance(one, dict) for one in scenarios)
    if config.not_read or not is_inline:
        return None
    return _Tests(
        list(config.own_tests),
        [test for scenario in config.scenarios for test in scenario.tests],
    )


def _tests_of_results(facts: FileFacts) -> _Tests | None:
    """Return the tests of the config that promptfoo keeps with the results."""
    from lobu_provider.results.documents import at, parsed
    from lobu_provider.results.outcomes import items

    own = facts.config_tests()
    if own is None:
        return None
    scenarios = items(at(parsed(facts.path), "config.scenarios"))
    return _Tests(own, [test for one in scenarios for test in items(one.get("tests"))])
