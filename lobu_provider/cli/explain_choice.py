"""Which row ``explain`` shows, by its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lobu_provider.results.identity import Identity
    from lobu_provider.results.rows import Row
    from lobu_provider.results.runs import Test


def ways_to_choose(fitting: Sequence[Test]) -> str:
    """Return what tells some tests apart: the argument or options of the command."""
    values = {
        "TEST": {one.name for one in fitting},
        "--provider": {one.column.provider for one in fitting},
        "--prompt": {one.column.prompt for one in fitting},
    }
    return " and ".join(way for way, found in values.items() if len(found) > 1)


def asked_tests(tests: Sequence[Test], provider: str | None, prompt: str | None) -> list[Test]:
    """Return the tests of that provider and prompt, each given or any.

    Raises:
        click.UsageError: there are none.
    """
    if not tests:
        raise click.UsageError("There are no rows: no test was selected, or the run was stopped.")
    if provider is not None:
        known = sorted({one.column.provider for one in tests})
        tests = [one for one in tests if one.column.provider == provider]
        if not tests:
            raise click.UsageError(f"No provider {provider!r}. There are: {', '.join(known)}")
    if prompt is not None:
        labels = sorted({one.column.prompt for one in tests})
        exact = [one for one in tests if one.column.prompt == prompt]
        tests = exact or [one for one in tests if prompt.lower() in one.column.prompt.lower()]
        if not tests:
            raise click.UsageError(f"No prompt {prompt!r}. There are: {listed(labels)}")
    return list(tests)


def fitting_tests(asked: Sequence[Test], name: str | None, all_tests: Sequence[Test]) -> list[Test]:
    """Return the test to show, and after it the others that were as well asked for; none where
    no name is given and every row of ``asked`` passed.

    Args:
        asked: the tests to choose from.
        name: the argument TEST.
        all_tests: those of the run, by which TEST may be a number.

    Raises:
        click.UsageError: no test has that name, or several have.
    """
    if name is None:
        bad = [one for one in asked if any(row.outcome != "passed" for row in one.rows)]
        failed = [one for one in bad if any(row.outcome == "failed" for row in one.rows)]
        return failed or bad
    return _named(asked, name, _identities(all_tests))


def _identities(tests: Sequence[Test]) -> list[Identity]:
    """Return which tests there are, whoever answered, in the order in which they ran."""
    ordered = sorted(tests, key=lambda one: (one.first.file, one.first.test_idx))
    return list(dict.fromkeys(one.identity for one in ordered))


def _named(tests: Sequence[Test], name: str, numbered: Sequence[Identity]) -> list[Test]:
    from lobu_provider.results.required import matches

    found = [one for one in tests if one.name == name]
    found = found or [one for one in tests if matches(name, one)]
    if not found and name.isdecimal() and 0 < int(name[:9]) <= len(numbered):
        wanted = numbered[int(name[:9]) - 1]
        found = [one for one in tests if one.identity == wanted]
    found = found or [one for one in tests if name.lower() in one.name.lower()]
    names = list(dict.fromkeys(one.name for one in found or tests))
    if not found:
        raise click.UsageError(f"No test {name!r}. There are: {listed(names)}")
    if len(names) > 1:
        raise click.UsageError(f"{len(names)} tests fit {name!r}: {listed(names)}")
    return sorted(found, key=lambda one: all(row.outcome == "passed" for row in one.rows))


def listed(names: Sequence[str]) -> str:
    """Return names for people, at most twenty."""
    return ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")


def chosen_row(test: Test, repeat: int | None) -> Row:
    """Return the row with that number, from 1; without one the first that did not pass."""
    if repeat is None:
        failed = [row for row in test.rows if row.outcome == "failed"]
        return next(iter([*failed, *(r for r in test.rows if r.outcome != "passed"), test.first]))
    if repeat > len(test.rows):
        raise click.UsageError(f"{test.name} has {len(test.rows)} rows; there is no row {repeat}.")
    return test.rows[repeat - 1]
