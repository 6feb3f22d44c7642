"""Whether the gateway answers, takes the token, and has the agent: a session is made and deleted.

No message is sent, so no worker starts and no model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio

from lobu_provider import event_loop
from lobu_provider.abort import Abort
from lobu_provider.cli.common import ExitCode
from lobu_provider.cli.interrupts import interruptible
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.probe.finding import Finding, TimeBudget
from lobu_provider.probe.gateway import Target, fault, probe, resolves_in_time

LIMITS: Final = RequestLimits(connect_s=4, request_s=6, delete_s=2, repeats=0)
_DNS_LIMIT_S: Final = 4.0


def check_gateway(target: Target, budget: TimeBudget) -> Sequence[Finding]:
    """Return the findings ``gateway``, ``token`` and ``agent``; those not reached are warnings."""
    found: list[Finding] = []
    if budget.is_spent or not all(resolves_in_time([target], budget.at_most(_DNS_LIMIT_S))):
        what = "no time was left" if budget.is_spent else "its name is not resolved in time"
        found.append(fault("gateway", target, f"{target.settings.gateway}: {what}"))
    else:
        with interruptible() as (abort, signal_code):
            event_loop.run(_check(target, found, budget.at_most(20), abort))
        if signal_code() == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        if signal_code():
            raise SystemExit(signal_code())
    missing = [c for c in ("gateway", "token", "agent") if c not in {f.check for f in found}]
    found += [Finding(check, "warn", "not checked", where=target.where) for check in missing]
    return found


async def _check(target: Target, found: list[Finding], limit_s: float, abort: Abort) -> None:
    with anyio.CancelScope(deadline=anyio.current_time() + limit_s) as scope:
        with abort.cancelling(scope.cancel):
            await probe(target, found, LIMITS)
    if scope.cancelled_caught:
        found.append(fault("gateway", target, f"{target.settings.gateway}: no answer in time"))
