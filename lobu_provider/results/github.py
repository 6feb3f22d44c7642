"""Annotations of GitHub Actions: workflow commands on stdout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lobu_provider.results.junit import details_of
from lobu_provider.results.runs import Test, column_names

MOST: Final = 10
"""GitHub shows ten errors of a step and drops the rest without a word."""


def annotation_commands(tests: Sequence[Test], gaps: Sequence[str] = ()) -> Iterator[str]:
    """Yield one command for each gap and each test that did not pass, at most :data:`MOST`.

    Args:
        tests: all tests of the run.
        gaps: why the run is not whole.
    """
    found = [("error", "The run is not whole", gap) for gap in gaps]
    names = column_names(test.column for test in tests)
    for test in tests:
        bad = [row for row in test.rows if row.outcome != "passed"]
        if bad:
            worst = next((row for row in bad if row.outcome == "failed"), bad[0])
            level = "error" if worst.outcome == "failed" else "warning"
            title = f"{test.name} ({names[test.column]}): {len(bad)} of {len(test.rows)} not passed"
            found.append((level, title, "\n".join(details_of(worst))))
    found.sort(key=lambda one: one[0] != "error")  # what the agent did wrong comes first
    kept = found if len(found) <= MOST else found[: MOST - 1]
    for level, title, text in kept:
        yield f"::{level} title={_property(title)}::{_data(text)}"
    if len(found) > len(kept):
        left = len(found) - len(kept)
        yield f"::error title=lobu-provider report::{left} more are in the report"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
