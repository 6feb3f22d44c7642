"""One attempt at a case: a session, its messages one after the other, its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import httpx

from lobu_provider.config.settings import Settings
from lobu_provider.connect import open_client
from lobu_provider.conversation import open_conversation
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool

_DELETE_SHARE: Final = 0.1
"""Part of the time limit that the deletion may take at most; 3 s of the default 120."""


@dataclass(frozen=True)
class Line:
    """How the gateway is reached: as whom, and over what."""

    settings: Settings
    token: str | None
    transport: httpx.AsyncBaseTransport | None = None
    pool: AiohttpPool | None = None


async def converse(line: Line, plan: CallPlan, deadline: float, record: CallRecord) -> None:
    """Say the messages of ``plan`` until a turn fails; ``record`` is filled in as it goes.

    Args:
        line: whom to talk to.
        plan: what to say, in which thread.
        deadline: of everything, clean-up included, on the clock of ``anyio.current_time``.
        record: gets thread, session, turns, warnings and the session's token.

    Raises:
        LobuError: there was no conversation. What a turn runs into is in the turn.
    """
    record.thread = plan.session.thread
    record.message_count = len(plan.messages)
    started_s = anyio.current_time()
    left_s = deadline - started_s
    delete_s = max(0.01, min(RequestLimits.delete_s, left_s * _DELETE_SHARE))
    client = open_client(
        line.settings,
        line.token,
        transport=line.transport,
        pool=line.pool,
        limits=RequestLimits(delete_s=delete_s),
        lasting=plan.session.keep or plan.session.resume,
    )
    async with (
        client,
        open_conversation(
            client,
            plan.session,
            timeout_s=left_s - delete_s,
            warnings=record.warnings,
        ) as conversation,
    ):
        record.secrets.append(conversation.session.token)
        record.gateway_session_id = conversation.session.id
        record.turns = conversation.turns
        try:
            for message in plan.messages:
                turn = await conversation.say(message)
                if turn.failure is not None:
                    break
        finally:
            record.latency_s = anyio.current_time() - started_s
