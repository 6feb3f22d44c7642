"""Repeat a whole case on a fresh thread when gateway, network or worker failed; off by default.

Only what says nothing of the agent is repeated, and of that nothing that ran out of time: a case
that took its whole limit once would take it again. What a failed attempt did, its tool calls and
what the agent remembers, stays done; ``metadata.attempts`` tells of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import anyio

from lobu_provider.errors import Failure, LobuError
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.time_limit import TimeLimit
from lobu_provider.session_life import fresh_thread

MIN_ATTEMPT_S: Final = 5.0
"""A repeat that has less time left is not begun: a worker alone takes 2 to 4 s to start."""

_NEVER_REPEATED: Final = frozenset({"timeout", "cancelled", "internal"})


def may_be_repeated(failure: Failure) -> bool:
    """Return whether a failure is one that a repeat on a fresh thread may mend."""
    return (
        failure.error_class == "infrastructure"
        and failure.retryable
        and failure.code not in _NEVER_REPEATED
    )


def pause_s(attempt: int) -> float:
    """Return how long to wait after a failed attempt, counted from 1: 1, 2, 4, 8, 8 seconds."""
    return float(min(2 ** (attempt - 1), 8))


async def hold_case(
    attempt: Callable[[CallPlan], Awaitable[None]],
    plan: CallPlan,
    limit: TimeLimit,
    record: CallRecord,
    *,
    retries: int,
) -> None:
    """Make one attempt, and after failures that allow it up to ``retries`` more.

    Args:
        attempt: holds the conversation of a plan, and fills in ``record``.
        plan: of the first attempt; each repeat has a fresh thread.
        limit: of all attempts together.
        record: at the end that of the last attempt, with the earlier ones in ``attempts``.
        retries: how many repeats.

    Raises:
        LobuError: what the last attempt raised, where it was the last allowed; else it is in
            ``record.failure``.
    """
    for number in range(1, retries + 1):
        failed = await _failure_of(attempt, plan, record)
        if failed is None or not may_be_repeated(failed):
            return
        refusal = _reason_against(plan, limit.left_s - pause_s(number))
        if refusal is not None:
            record.warnings.append(f"config.retries: the case was not repeated: {refusal}")
            return
        record.set_attempt_aside(failed)
        await anyio.sleep(pause_s(number))
        plan = replace(plan, session=replace(plan.session, thread=fresh_thread()))
    await attempt(plan)


async def _failure_of(
    attempt: Callable[[CallPlan], Awaitable[None]], plan: CallPlan, record: CallRecord
) -> Failure | None:
    try:
        await attempt(plan)
    except LobuError as exc:
        record.failure = exc.failure
    return record.first_failure


def _reason_against(plan: CallPlan, left_s: float) -> str | None:
    if plan.session.resume or plan.session.keep:
        return "it goes on in a thread that has to stay, and a repeat needs a fresh one."
    if left_s < MIN_ATTEMPT_S:
        return (
            f"too little is left of its time limit (timeoutMs), and an attempt needs at least "
            f"{MIN_ATTEMPT_S:g} s."
        )
    return None
