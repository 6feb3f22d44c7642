"""What a check finds out, and promptfoo's grading result made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lobu_provider.assertions.evidence import Evidence


@dataclass(frozen=True)
class Outcome:
    """The result of one check."""

    seen: str
    """What was seen, for a check that passes."""
    failures: Sequence[str] = ()
    """All that is wrong; the check passes without any."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures


def grading(title: str, outcome: Outcome) -> dict[str, Any]:
    """Return promptfoo's grading result."""
    if outcome.passed:
        return {"pass": True, "score": 1, "reason": f"{title}: {outcome.seen}"}
    return failed(f"{title} failed: " + "\n".join(outcome.failures))


def failed(reason: str) -> dict[str, Any]:
    """Return promptfoo's grading result for a failure."""
    return {"pass": False, "score": 0, "reason": reason}


def gaps(evidence: Evidence, options: Mapping[str, Any], what: str = "tool calls") -> list[str]:
    """Return why a check that something is absent cannot be made, unless the options allow it."""
    if not evidence.holes or options.get("allowGaps", False):
        return []
    why = "; ".join(evidence.holes)
    return [f"{what} may be missing, so this cannot be said: {why} (allowGaps: true accepts that)"]
