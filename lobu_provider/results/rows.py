"""A row of a run, cut down to what statistics, comparisons and reports need: about one kilobyte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from lobu_provider.results.identity import Distinction, Identity
from lobu_provider.results.outcomes import Outcome


class Call(NamedTuple):
    """One tool call."""

    name: str
    arguments: str
    """As JSON; cut, without secrets."""
    key: str
    """Equal for equal arguments, whatever the order of their keys, also beyond the cut."""
    failed: bool


class Rubric(NamedTuple):
    """One verdict of a model-graded assertion."""

    text: str
    passed: bool
    score: float | None


class FailedCheck(NamedTuple):
    """One assertion that failed."""

    kind: str
    reason: str
    broken: bool


@dataclass(frozen=True)
class Row:
    """One row. ``None`` is what the run does not tell."""

    identity: Identity
    provider: str
    prompt: str
    file: int
    """Number of the file it came from, from 0."""
    test_idx: int
    """promptfoo's number of the test after expansion and repetition."""
    prompt_idx: int
    """promptfoo's number of the pair of provider and prompt."""
    outcome: Outcome
    reason: str
    """Why it did not pass; empty where it did."""
    code: str | None
    """Code of our provider's error."""
    turn: int | None
    """The turn in which it failed, from 1."""
    score: float | None
    latency_ms: float | None
    tokens: int | None
    turns: tuple[tuple[Call, ...], ...] | None
    """The tool calls of each turn, where the provider tells of them."""
    failed_checks: tuple[FailedCheck, ...]
    rubrics: tuple[Rubric, ...]
    checks: int
    """Number of assertions that gave a verdict."""
    trace_id: str | None
    session_id: str | None
    labels: tuple[str, ...]
    """``key=value`` of the test's own metadata."""
    distinction: Distinction
