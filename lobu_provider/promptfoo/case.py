"""One attempt at a case: a session, its messages one after the other, its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import httpx

from lobu_provider.config.settings import Settings
from lobu_provider.connect import open_client
from lobu_provider.conversation import Conversation, TalkRules
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.question_answers import MAX_IN_A_ROW, answer_to
from lobu_provider.promptfoo.tool_stops import ToolStops
from lobu_provider.session_life import open_conversation
from lobu_provider.session_notes import notes_for
from lobu_provider.turn_clock import TurnLimits

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
            rules=_rules(line.settings),
            notes=notes_for(line.settings, plan.evaluation_id, plan.session.thread),
        ) as conversation,
    ):
        record.secrets.append(conversation.session.token)
        record.gateway_session_id = conversation.session.id
        record.turns = conversation.turns
        try:
            await _say_all(conversation, line.settings, plan, record)
        finally:
            record.latency_s = anyio.current_time() - started_s


async def _say_all(
    conversation: Conversation, settings: Settings, plan: CallPlan, record: CallRecord
) -> None:
    stops = ToolStops(settings.stop_on_tool, settings.max_tool_calls)
    for number, message in enumerate(plan.messages, start=1):
        turn = await conversation.say(message, stop_when=stops)
        for _ in range(MAX_IN_A_ROW):
            if turn.failure is not None or turn.cut_short is not None:
                break
            answer = answer_to(turn, settings.answers, record.warnings)
            if answer is None:
                break
            record.message_count += 1
            turn = await conversation.say(answer, stop_when=stops)
        if turn.failure is not None:
            return
        if stops.stopped is not None:
            unsaid = len(plan.messages) - number
            record.ended_early = (
                f"{stops.stopped} The conversation was ended there"
                + (f", with {unsaid} messages not sent" if unsaid else "")
                + "; the turn may go on at the gateway."
            )
            return


def _rules(settings: Settings) -> TalkRules:
    turn_s = settings.turn_timeout_s
    return TalkRules(
        limits=TurnLimits(
            turn_s=math.inf if turn_s is None else turn_s, idle_s=settings.idle_timeout_s
        ),
        ephemeral_context=settings.ephemeral_context,
        failure_texts=settings.failure_texts,
        allow_empty=settings.config.allow_empty,
    )
