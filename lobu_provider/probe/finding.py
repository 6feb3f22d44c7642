"""One thing that was looked at and what was found, and the time that all may take together."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    check: str
    """A fixed name, e.g. ``gateway``."""
    status: Status
    detail: str
    """What was found, without ``where``."""
    fix: str | None = None
    """What to do; with status ``ok`` a tip."""
    is_gateway: bool = False
    """Whether a failure lies with the gateway (unreachable, refused) and not on this side."""
    where: str = ""
    """What it was found in, e.g. ``providers[0]``; blank where there is only one such thing."""
    code: str = ""
    """Of the failure behind it, a key of :data:`lobu_provider.errors.CODES`; blank without one."""


def joined(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in order, those that differ only in ``where`` as one."""
    places: dict[Finding, list[str]] = {}
    for finding in findings:
        same = places.setdefault(replace(finding, where=""), [])
        if finding.where not in same:
            same.append(finding.where)
    return [replace(finding, where=", ".join(found)) for finding, found in places.items()]


class TimeBudget:
    """Seconds that are left of a limit over everything."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s

    def at_most(self, seconds: float) -> float:
        """Return ``seconds``, or what is left if that is less; never under 0.1."""
        return max(0.1, min(seconds, self._end_s - time.monotonic()))

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return time.monotonic() >= self._end_s
