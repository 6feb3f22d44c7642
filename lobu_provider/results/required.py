"""Tests that must have run and passed, whatever else did."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from lobu_provider.results.runs import Column, Test, column_names
from lobu_provider.results.summary import summarize

State = Literal["ok", "failed", "pending"]


class Required(NamedTuple):
    """One test that a requirement names, with one provider; or a requirement without any."""

    requirement: str
    test: str | None
    provider: str | None
    """With the prompt, where the run has several."""
    state: State
    """``ok``: all its rows were judged and passed. ``failed``: one failed, or nothing matches.
    ``pending``: it ran, and was not judged in full."""
    why: str

    @property
    def about(self) -> str:
        """What it is about, for people."""
        return self.requirement if self.test is None else f"{self.test} ({self.provider})"


def required_states(requirements: Sequence[str], tests: Sequence[Test]) -> list[Required]:
    """Return the state of each test that a requirement names.

    Args:
        requirements: a test's name with ``*`` and ``?``, or ``key=value`` of its metadata, which
            ``--filter-metadata`` takes too.
        tests: all tests of the run.
    """
    names = column_names(test.column for test in tests)
    return [state for one in requirements for state in _states(one, tests, names)]


def _states(requirement: str, tests: Sequence[Test], names: Mapping[Column, str]) -> list[Required]:
    found = [test for test in tests if matches(requirement, test)]
    if not found:
        return [Required(requirement, None, None, "failed", "no test of the run matches it")]
    return [_state(requirement, test, names[test.column]) for test in found]


def matches(requirement: str, test: Test) -> bool:
    """Return whether a requirement names a test."""
    names = {test.name, test.first.identity.name}
    pattern = re.sub(r"\[", "[[]", requirement)  # brackets stand in names, and mean themselves
    if any(fnmatchcase(name, pattern) for name in names):
        return True
    return any(fnmatchcase(label, pattern) for row in test.rows for label in row.labels)


def _state(requirement: str, test: Test, provider: str) -> Required:
    summary = summarize(test.rows)
    if summary.judged > summary.passed:
        why = f"passed {summary.passed} of {summary.judged}"
        return Required(requirement, test.name, provider, "failed", why)
    if summary.unjudged:
        why = ", ".join(f"{count} {name}" for name, count in summary.unjudged.items())
        return Required(requirement, test.name, provider, "pending", f"not judged: {why}")
    return Required(requirement, test.name, provider, "ok", f"passed all {summary.judged}")
