"""A case that a cassette answers: the same conversation, on a clock that skips its waits."""

from __future__ import annotations

from functools import partial

import anyio

from lobu_provider.abort import Abort
from lobu_provider.cassettes.skipping_loop import run_skipping
from lobu_provider.config.settings import Settings
from lobu_provider.errors import Failure, failure
from lobu_provider.promptfoo.attempts import hold_case
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.case import Line, converse
from lobu_provider.promptfoo.tapes import Replay
from lobu_provider.promptfoo.time_limit import TimeLimit


async def replay_case(
    settings: Settings,
    plan: CallPlan,
    replay: Replay,
    host_limit_s: float | None,
    abort: Abort,
    record: CallRecord,
) -> None:
    """Hold the conversation of ``plan`` with a cassette, in a thread with an event loop of its own.

    Args:
        settings: the provider's configuration; its limits are those of recorded time.
        plan: what to say.
        replay: what answers.
        host_limit_s: promptfoo's own limit in seconds of real time, of which a replay without
            waits takes none.
        abort: ends it.
        record: filled in as by a live call.

    Raises:
        LobuError: there was no conversation.
    """
    record.cassette = replay.told
    line = Line(settings, None, tape=replay.player)
    if host_limit_s is not None:
        host_limit_s = None if replay.speed is None else host_limit_s * replay.speed

    async def main() -> None:
        limit = TimeLimit(settings.timeout_s, host_limit_s)

        async def attempt(plan: CallPlan) -> None:
            await converse(line, plan, limit.deadline, record)

        with anyio.CancelScope() as scope, abort.cancelling(scope.cancel):
            await hold_case(attempt, plan, limit, record, retries=settings.config.retries)
        if scope.cancelled_caught:
            record.failure = interrupted()

    start_s = anyio.current_time()
    await anyio.to_thread.run_sync(partial(run_skipping, main, start_s=start_s, speed=replay.speed))


def interrupted() -> Failure:
    """Return the failure of a call that was aborted."""
    return failure("cancelled", "The run was interrupted before this call ended.", phase="create")
