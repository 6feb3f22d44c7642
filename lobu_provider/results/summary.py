"""The rows of some tries in numbers: one test over its repeats, one provider, or a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lobu_provider.results.outcomes import UNJUDGED
from lobu_provider.results.rows import Row
from lobu_provider.results.statistics import (
    Interval,
    mean,
    pass_all,
    pass_at,
    percentile,
    wilson,
)

Verdict = Literal["stable", "flaky", "failing", "unjudged"]


@dataclass(frozen=True)
class Summary:
    """Counts and estimates. Rates are over judged rows: those that say something of the agent."""

    rows: int
    passed: int
    judged: int
    unjudged: dict[str, int]
    """Rows that were not judged, by outcome."""
    score: float | None
    """Mean over judged rows."""
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    tokens: int | None
    """Sum; ``None`` where no row tells."""

    @property
    def rate(self) -> float | None:
        """Share of judged rows that passed."""
        return self.passed / self.judged if self.judged else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of :attr:`rate`."""
        return wilson(self.passed, self.judged)

    @property
    def verdict(self) -> Verdict:
        """All judged rows passed, some, none; or there were none."""
        if not self.judged:
            return "unjudged"
        if self.passed == self.judged:
            return "stable"
        return "flaky" if self.passed else "failing"

    def pass_at(self, k: int) -> float | None:
        """Return pass@k."""
        return pass_at(k, self.passed, self.judged)

    def pass_all(self, k: int) -> float | None:
        """Return pass^k."""
        return pass_all(k, self.passed, self.judged)

    def as_json(self) -> dict[str, Any]:
        """Return the numbers under the names of ``--json``."""
        return {
            "rows": self.rows,
            "passed": self.passed,
            "failed": self.judged - self.passed,
            "judged": self.judged,
            "graderFailures": self.unjudged.get("grader", 0),
            "infrastructureErrors": self.unjudged.get("infrastructure", 0),
            "configErrors": self.unjudged.get("config", 0),
            "notRun": self.unjudged.get("not run", 0),
            "passRate": self.rate,
            "passRate95": [self.interval.low, self.interval.high],
            "meanScore": self.score,
            "latencyP50Ms": self.latency_p50_ms,
            "latencyP95Ms": self.latency_p95_ms,
            "tokens": self.tokens,
        }


def summarize(rows: Sequence[Row]) -> Summary:
    """Return the numbers of some rows."""
    counts = Counter(row.outcome for row in rows)
    judged = [row for row in rows if row.outcome not in UNJUDGED]
    latencies = [row.latency_ms for row in judged if row.latency_ms is not None]
    tokens = [row.tokens for row in rows if row.tokens is not None]
    return Summary(
        rows=len(rows),
        passed=counts["passed"],
        judged=len(judged),
        unjudged={name: counts[name] for name in UNJUDGED if counts[name]},
        score=mean([row.score for row in judged if row.score is not None]),
        latency_p50_ms=percentile(latencies, 0.5),
        latency_p95_ms=percentile(latencies, 0.95),
        tokens=sum(tokens) if tokens else None,
    )


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is known."""
    return mean([value for value in values if value is not None])
