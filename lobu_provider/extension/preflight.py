"""Whether each gateway can be used, in the little time that a run may wait for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import anyio

from lobu_provider import event_loop
from lobu_provider.extension.targets import Targets
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.probe.finding import Finding, TimeBudget, joined
from lobu_provider.probe.gateway import Target, distinct, fault, probe, resolves_in_time

LIMITS: Final = RequestLimits(connect_s=1.2, request_s=1.8, delete_s=0.5, repeats=0)
_NAME_LIMIT_S: Final = 1.2
_BUSY: Final = frozenset({"rate_limit", "timeout"})
"""Codes of a gateway that is there and may answer the run's own, more patient requests."""


def check(targets: Targets, budget: TimeBudget) -> None:
    """Make and delete a session at each distinct gateway, agent and account, all at once.

    What is found is added to ``targets``: as a fault where the run cannot work, as a note where the
    gateway was only slow.
    """
    asked = distinct(targets.reachable)
    if not asked:
        return
    named = resolves_in_time(asked, budget.at_most(_NAME_LIMIT_S))
    unnamed = [target for target, is_named in zip(asked, named, strict=True) if not is_named]
    rest = [target for target, is_named in zip(asked, named, strict=True) if is_named]
    found = [_unresolved(target) for target in unnamed]
    # Nor is a sweep to wait for that name: the program could not end before the look-up.
    hanging = {target.settings.gateway for target in unnamed}
    targets.reachable = [t for t in targets.reachable if t.settings.gateway not in hanging]
    found += event_loop.run(_probe_all(rest, budget.at_most(LIMITS.request_s)))
    for finding in joined(replace(one, check="", is_gateway=False) for one in found):
        _judge(finding, targets)


def _unresolved(target: Target) -> Finding:
    said = f"{target.settings.gateway}: its name is not resolved in time."
    return replace(fault("gateway", target, said), code="timeout")


async def _probe_all(targets: list[Target], limit_s: float) -> list[Finding]:
    tries = [_Try(target) for target in targets]
    with anyio.move_on_after(limit_s):
        async with anyio.create_task_group() as group:
            for one in tries:
                group.start_soon(one.run)
    return [finding for one in tries for finding in one.outcome()]


class _Try:
    """One target's session, and what came of it."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._found: list[Finding] = []

    async def run(self) -> None:
        await probe(self._target, self._found, LIMITS, asks_health=False)

    def outcome(self) -> list[Finding]:
        target = self._target
        if not self._found:
            said = f"{target.settings.gateway} gave no answer in time."
            self._found.append(Finding("agent", "fail", said, where=target.where, code="timeout"))
        return self._found


def _judge(finding: Finding, targets: Targets) -> None:
    if finding.status == "ok":
        return
    said = f"{finding.where}: {finding.detail}"
    if finding.status == "fail" and finding.code not in _BUSY:
        fix = f"\n    Fix: {finding.fix}" if finding.fix else ""
        targets.faults.append(f"{said}{fix}")
    elif finding.status == "fail":
        targets.notes.append(f"{said} So it was not checked; the run goes on.")
    else:
        targets.notes.append(said)
