"""One attempt at a case: a session, its messages one after the other, its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import anyio
import httpx

from lobu_provider.cassettes.player import Player
from lobu_provider.cassettes.tape import Tape
from lobu_provider.config.settings import Settings
from lobu_provider.connect import open_client
from lobu_provider.conversation import Conversation, TalkRules
from lobu_provider.errors import Failure
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.promptfoo.call_plan import CallPlan
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.question_answers import MAX_QUESTION, QuestionAnswers
from lobu_provider.promptfoo.tool_stops import ToolStops
from lobu_provider.session_life import open_conversation
from lobu_provider.session_notes import notes_for
from lobu_provider.turn import Turn
from lobu_provider.turn_clock import TurnLimits
from lobu_provider.turn_story import TurnRules

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool

_DELETE_SHARE: Final = 0.1
"""Part of the time limit that the deletion may take at most; 3 s of the default 120."""

_LATE_S: Final = 0.5
"""How long what comes after the end of a turn is waited for at most, where it decides what to say
next or what is judged. Mostly it is the time of one silence, a tenth of a second."""

_ABSENCE: Final = ("empty", "action_required")
"""Failures that rest on something not having come, so that it has to have time to come."""


@dataclass(frozen=True)
class Line:
    """How the gateway is reached: as whom, and over what."""

    settings: Settings
    token: str | None
    transport: httpx.AsyncBaseTransport | None = None
    pool: AiohttpPool | None = None
    tape: Tape | Player | None = None
    """Records what is said there, or answers in its place."""


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
    record.thread, record.call_number = plan.session.thread, plan.call_number
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
        tape=line.tape,
    )
    case = _Case(line.settings, plan, record, client, has_tape=line.tape is not None)
    try:
        async with (
            client,
            open_conversation(
                client,
                plan.session,
                timeout_s=left_s - delete_s,
                warnings=record.warnings,
                rules=_rules(line.settings),
                # What a cassette answers leaves no session behind.
                notes=None
                if isinstance(line.tape, Player)
                else notes_for(line.settings, plan.evaluation_id, plan.session.thread),
            ) as conversation,
        ):
            record.gateway_session_id = conversation.session.id
            record.turns = conversation.turns
            try:
                await case.say_all(conversation)
            finally:
                record.latency_s = anyio.current_time() - started_s
            await case.hear_end(conversation, deadline - delete_s)
    finally:
        record.secrets += client.session_tokens  # also of a conversation that never opened
    case.judge_end()


class _Case:
    """What is said, and when there is no more to say."""

    def __init__(
        self,
        settings: Settings,
        plan: CallPlan,
        record: CallRecord,
        client: GatewayClient,
        *,
        has_tape: bool,
    ) -> None:
        self._plan = plan
        self._record = record
        self._stops = ToolStops(settings.stop_on_tool, settings.config.max_tool_calls)
        self._answers = QuestionAnswers(
            settings.answers,
            record.warnings,
            lambda text: client.redactor.shortened(text, MAX_QUESTION),
        )
        self._has_tape = has_tape
        self._said = 0
        """How many of the plan's messages."""

    async def say_all(self, conversation: Conversation) -> None:
        for message in self._plan.messages:
            self._said += 1
            self._answers.begin_message()
            words: str | None = message
            while words is not None:
                self._stops.begin_turn(conversation.turns)
                turn = await conversation.say(
                    words, stop_when=self._stops if self._stops.is_needed else None
                )
                if turn.cut_short is None and (
                    self._hears_each if turn.failure is None else turn.failure.code in _ABSENCE
                ):
                    await self._listen(conversation)
                if self._is_over(conversation.turns):
                    return
                answer = self._answers.next_answer(conversation.turns)
                if isinstance(answer, Failure):
                    self._record.failure = answer
                    return
                self._record.message_count += answer is not None
                words = answer

    async def _listen(self, conversation: Conversation, limit_s: float = _LATE_S) -> None:
        with anyio.move_on_after(limit_s):
            await conversation.listen_to_end()

    @property
    def _hears_each(self) -> bool:
        """Whether what is told of a turn after its end may end the conversation."""
        return self._stops.is_needed or self._answers.is_needed

    async def hear_end(self, conversation: Conversation, until_s: float) -> None:
        """Hear what is told after the end of the last turn, where somebody judges it.

        The deletion ends the stream. A newer gateway tells of tool calls without waiting for it,
        and with several replicas in no certain order. A failed turn is judged too where the case
        is repeated, and a recording may be judged later.
        """
        last = conversation.turns[-1] if conversation.turns else None
        is_heard = self._hears_each and last is not None and last.failure is None
        if last is None or last.cut_short is not None or is_heard or self._plan.session.keep:
            return
        if self._plan.is_judged or self._has_tape:
            await self._listen(conversation, min(_LATE_S, until_s - anyio.current_time()))

    def _is_over(self, turns: Sequence[Turn]) -> bool:
        return (
            turns[-1].failure is not None
            or turns[-1].cut_short is not None
            or (self._stops.is_needed and self._stops.reached(turns))
        )

    def judge_end(self) -> None:
        """Judge the turns as they are at last, with everything that came late."""
        record = self._record
        record.warnings += self._answers.warnings_of_late_questions(record.turns)
        too_many = self._stops.failure_of(record.turns)
        if too_many is not None:
            record.turns = [
                replace(turn, failure=turn.failure or too_many) if n == too_many.turn else turn
                for n, turn in enumerate(record.turns, start=1)
            ]
        stop = self._stops.stop_of(record.turns)
        if stop is not None and not any(turn.failure is not None for turn in record.turns):
            unsaid = len(self._plan.messages) - self._said
            record.ended_early = (
                f"{stop} The conversation was ended there"
                + (f", messages not sent: {unsaid}" if unsaid else "")
                + "; the turn may go on at the gateway."
            )


def _rules(settings: Settings) -> TalkRules:
    config, turn_s = settings.config, settings.turn_timeout_s
    return TalkRules(
        limits=TurnLimits(
            turn_s=math.inf if turn_s is None else turn_s, idle_s=settings.idle_timeout_s
        ),
        ephemeral_context=config.ephemeral_context,
        judging=TurnRules(failure_texts=config.failure_texts, allow_empty=config.allow_empty),
    )
