"""Delete the sessions that a run created and did not delete.

The session's own token went with the process that had it. The user's token gets another: the
create call resumes a thread with ``forceNew: false`` and answers with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from lobu_provider import event_loop, ledger
from lobu_provider.connect import open_client
from lobu_provider.errors import LobuError, config_error
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.ledger import LeftSession
from lobu_provider.probe.gateway import Target
from lobu_provider.session_notes import marker_of

LIMITS: Final = RequestLimits(connect_s=2, request_s=4, delete_s=2, repeats=0)
_AT_ONCE: Final = 8


@dataclass
class Swept:
    """What became of the sessions of one run."""

    deleted: int = 0
    failed: list[str] = field(default_factory=list)
    """Why sessions are still there."""
    unknown: int = 0
    """Of gateways or agents that the suite does not name, or whose token was not found."""

    @property
    def left(self) -> int:
        """How many are still there."""
        return self.unknown + len(self.failed)


def sweep(evaluation_id: str, targets: Sequence[Target], limit_s: float) -> Swept:
    """Delete what a run left, and remove its ledger when nothing is left any more.

    Args:
        evaluation_id: which run.
        targets: which gateways can be asked, as whom.
        limit_s: over everything; what is not deleted by then stays in the ledger.
    """
    swept = Swept()
    work: list[tuple[LeftSession, Target]] = []
    for session in ledger.left(evaluation_id):
        target = _target_of(session, targets)
        if target is None:
            swept.unknown += 1
        else:
            work.append((session, target))
    if work:
        event_loop.run(_delete_all(evaluation_id, work, limit_s, swept))
    ledger.forget(evaluation_id)
    return swept


def _target_of(session: LeftSession, targets: Sequence[Target]) -> Target | None:
    same = [
        target
        for target in targets
        if (target.settings.gateway, target.settings.agent_id)
        == (session.gateway, session.agent_id)
    ]
    marked = [target for target in same if marker_of(target.settings) == session.marker]
    # A session without a mark, or with that of a config that was changed since: if one account
    # alone is there to ask, it is asked. A resumed thread of another account has another id.
    return next(iter(marked), same[0] if len(same) == 1 else None)


async def _delete_all(
    evaluation_id: str, work: list[tuple[LeftSession, Target]], limit_s: float, swept: Swept
) -> None:
    waiting = list(reversed(work))

    async def worker() -> None:
        while waiting:
            session, target = waiting.pop()
            try:
                await _delete(session, target)
            except LobuError as error:
                swept.failed.append(f"{session.gateway}: {error.failure}")
                continue
            ledger.note_deleted(evaluation_id, *session.key)
            swept.deleted += 1

    with anyio.move_on_after(limit_s) as limit:
        async with anyio.create_task_group() as group:
            for _ in range(min(_AT_ONCE, len(work))):
                group.start_soon(worker)
    if limit.cancelled_caught:
        missing = len(work) - swept.deleted - len(swept.failed)
        swept.failed += ["the gateway is slow and the time was up"] * missing


async def _delete(session: LeftSession, target: Target) -> None:
    """Resume the session's thread and delete what comes.

    Raises:
        LobuError: it is still there.
    """
    async with open_client(target.settings, target.token, limits=LIMITS) as client:
        resumed = await client.create_session(
            session.agent_id, thread=session.thread, force_new=False
        )
        await client.delete_session(resumed)
    if session.session_id not in ("", resumed.id):
        raise config_error(
            "The session is another user's: this config's token got a different one for its thread."
        )
