"""Whether a release may go out by this run: the decision to trust in continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lobu_provider.results.required import Required, required_states
from lobu_provider.results.runs import Run, Test, column_names, group_tests
from lobu_provider.results.summary import Summary, summarize
from lobu_provider.results.texts import times

Answer = Literal["ok", "failed", "unknown"]
"""``failed``: the agent failed. ``unknown``: it did not, and not all that it needed was judged."""


@dataclass(frozen=True)
class Rates:
    """What share of judged rows must pass, 0 to 1."""

    overall: float | None = None
    each: float | None = None
    """Of each test."""


@dataclass(frozen=True)
class Gate:
    """The answer, and why."""

    answer: Answer
    failures: tuple[str, ...]
    """What the agent did wrong."""
    doubts: tuple[str, ...]
    """What is missing for a yes."""
    required: tuple[Required, ...]
    notes: tuple[str, ...]
    """What weakens a yes and is no reason for a no."""

    def as_json(self) -> dict[str, Any]:
        """Return the answer under the names of ``--json``."""
        return {
            "answer": self.answer,
            "failures": list(self.failures),
            "doubts": list(self.doubts),
            "required": [one._asdict() for one in self.required],
            "notes": list(self.notes),
        }


def decide(
    run: Run,
    gaps: Sequence[str],
    requirements: Sequence[str] = (),
    rates: Rates | None = None,
) -> Gate:
    """Return whether the run is good.

    Without rates every judged row must pass. Rows that were not judged are always a doubt.

    Args:
        run: what was read.
        gaps: why it is not whole, see :mod:`completeness`.
        requirements: see :func:`required_states`.
        rates: what is enough.
    """
    tests, whole = group_tests(run.rows), summarize(run.rows)
    required = required_states(requirements, tests)
    failures = [
        *rate_failures(tests, whole, rates or Rates(overall=1.0)),
        *(_told(one) for one in required if one.state == "failed"),
    ]
    doubts = [
        *gaps,
        *(f"{times(n, 'row')} not judged: {_WHY[name]}" for name, n in whole.unjudged.items()),
        *(_told(one) for one in required if one.state == "pending"),
    ]
    if not whole.judged and not doubts:
        doubts.append("no row was judged")
    answer: Answer = "failed" if failures else "unknown" if doubts else "ok"
    return Gate(answer, tuple(failures), tuple(doubts), tuple(required), _notes(run))


def _notes(run: Run) -> tuple[str, ...]:
    unchecked = sum(row.outcome == "passed" and not row.checks for row in run.rows)
    found = [f"{times(unchecked, 'row')} passed without any assertion"] if unchecked else []
    for number, facts in enumerate(run.files):
        if facts.filter_range is not None or facts.tests is None or facts.ended is False:
            continue  # a shard; nothing to count; or a run whose missing rows are told already
        ran = len({row.test_idx for row in run.rows if row.file == number}) // (facts.repeat or 1)
        if 0 < ran < facts.tests:
            found.append(f"{facts.path} has {ran} of the config's {facts.tests} tests: a filter?")
    return tuple(found)


_WHY = {
    "grader": "a check broke (its grader, its own code, or how it is written)",
    "infrastructure": "gateway, network, worker or model provider failed",
    "config": "the configuration or the test must change",
    "not run": "the run was interrupted or out of time",
}


def rate_failures(tests: Sequence[Test], whole: Summary, rates: Rates) -> list[str]:
    """Return which pass rates are below what is asked for. What was not judged has no rate."""
    found = []
    names = column_names(test.column for test in tests)
    if rates.overall is not None and whole.rate is not None and whole.rate < rates.overall:
        found.append(
            f"{whole.passed} of {times(whole.judged, 'judged row')} passed ({whole.rate:.1%}); "
            f"at least {rates.overall:.1%} must"
        )
    for test in tests if rates.each is not None else ():
        summary = summarize(test.rows)
        if rates.each is not None and summary.rate is not None and summary.rate < rates.each:
            found.append(
                f"{test.name} ({names[test.column]}): passed {summary.passed} of "
                f"{summary.judged} ({summary.rate:.1%}); at least {rates.each:.1%} must"
            )
    return found


def _told(one: Required) -> str:
    about = f"{one.about} " if one.test is not None else ""
    return f"required {one.requirement}: {about}{one.why}"
