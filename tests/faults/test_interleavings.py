"""Random turns, cut and replayed at random: text once, tools once, one verdict for each turn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lobu_provider.conversation import Conversation
from lobu_provider.errors import error_for, failure
from lobu_provider.event_loop import run
from lobu_provider.events import Frame
from lobu_provider.gateway_client import GatewayClient, SentMessage, Session
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.session_life import SessionPlan, open_conversation
from lobu_provider.turn import Turn
from tests.faults.fault_rows import held
from tests.wire import wire_answers
from tests.wire.wire_answers import CONNECTED, AfterMessage, stream

RING: Final = 100
"""Events that a gateway replays at most."""


@dataclass(frozen=True)
class Script:
    """One turn: pieces of text, ``None`` for each tool call; and whether it ends in an error."""

    steps: tuple[str | None, ...]
    fails: bool

    @property
    def text(self) -> str:
        return "".join(step for step in self.steps if step is not None)


@dataclass(frozen=True)
class Connection:
    """How one connection goes."""

    cut_after: int
    """It breaks when it has brought so many new events."""
    early: int
    """So many come before ``connected``, and once more with the backlog."""
    missed: int
    """So many happen while the stream is down."""
    breaks: bool
    """By an error, else by a plain end."""


SCRIPTS: Final = st.lists(
    st.builds(
        Script,
        st.lists(st.sampled_from(["ha ", "x", "\n", "é", None]), max_size=12).map(
            lambda steps: ("begin ", *steps)
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
CONNECTIONS: Final = st.lists(
    st.builds(
        Connection,
        st.integers(0, 12),
        st.integers(0, 3),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=6,
)


class FlakyClient:
    """Says what the scripts say, over connections that break as planned; the last one holds."""

    limits = RequestLimits()

    def __init__(
        self, scripts: list[Script], connections: list[Connection], *, ids: bool, final: bool
    ) -> None:
        self.scripts = scripts
        self.plans = iter(connections)
        self.ids = ids
        self.final = final
        self.sent = 0
        self.log: list[Frame] = []
        self.pending: list[Frame] = []
        self.missed = 0
        self.deleted = False
        self.news = anyio.Event()
        self.clock = 10_000

    async def create_session(self, agent_id: str, *, thread: str, **_: Any) -> Session:
        return Session(id="s", agent_id=agent_id, thread=thread, token="t" * 16)

    async def send_message(
        self, session: Session, content: str, *, message_id: str, **_: Any
    ) -> SentMessage:
        script = self.scripts[self.sent]
        self.sent += 1
        self.pending += self._frames(script, message_id)
        self._tell()
        return SentMessage(message_id=message_id, job_id=None, trace_id=None)

    async def delete_session(self, session: Session) -> None:
        self.deleted = True
        self._tell()

    def _tell(self) -> None:
        self.news.set()
        self.news = anyio.Event()

    def _frame(self, name: str, /, **data: Any) -> Frame:
        self.clock += 150
        body = json.dumps({**data, "timestamp": self.clock})
        return Frame(name, body, str(self.clock) if self.ids else None)

    def _frames(self, script: Script, message_id: str) -> Iterator[Frame]:
        for number, step in enumerate(script.steps):
            if step is None:
                call = f"{self.sent}-{number}"
                yield self._frame("tool_use", name="t", toolCallId=call, messageId=message_id)
            else:
                yield self._frame("output", content=step, messageId=message_id)
        if script.fails:
            for name in ("error", "agent-error"):
                yield self._frame(name, error="400 Bad request", messageId=message_id)
        end = {"finalText": script.text} if self.final and not script.fails else {}
        yield self._frame("complete", messageId=message_id, **end)

    @asynccontextmanager
    async def stream_events(
        self, session: Session, *, on_bytes: Callable[[], None], last_id: str | None, **_: Any
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        plan = next(self.plans, None)
        yield self._connection(plan, on_bytes, last_id)

    async def _connection(
        self, plan: Connection | None, on_bytes: Callable[[], None], last_id: str | None
    ) -> AsyncIterator[Frame]:
        on_bytes()
        known = int(last_id or 0) if self.ids else 0
        for _ in range(plan.early if plan is not None else 0):
            if self.pending and not self.missed:  # else out of order: see test_faults_of_the_stream
                yield self._live()
        connected = {"agentId": "agent", "timestamp": self.clock - 150 * len(self.pending)}
        yield Frame("connected", json.dumps(connected))
        for frame in self.log[-RING:]:
            if not self.ids or int(frame.id or 0) > known:
                yield frame
        brought = 0
        while plan is None or brought < plan.cut_after:
            if self.pending:
                brought += 1
                yield self._live()
            elif self.deleted:
                return
            else:
                await self.news.wait()
        self.missed = min(plan.missed, len(self.pending))
        for _ in range(self.missed):
            self._live()
        if plan.breaks:
            raise error_for(failure("stream_lost", "It broke.", phase="turn", repeatable=True))

    def _live(self) -> Frame:
        frame = self.pending.pop(0)
        self.log.append(frame)
        return frame


async def conversation_of(client: FlakyClient) -> list[Turn]:
    said: Conversation | None = None
    with anyio.fail_after(20):
        async with open_conversation(
            cast(GatewayClient, client), SessionPlan("agent")
        ) as conversation:
            said = conversation
            for number in range(len(client.scripts)):
                await conversation.say(f"message {number}")
    assert client.deleted
    return said.turns


def check(turn: Turn, number: int, script: Script) -> None:
    assert turn.streamed_text == script.text
    calls = [f"{number}-{place}" for place, step in enumerate(script.steps) if step is None]
    assert [call.tool_call_id for call in turn.tool_calls] == calls
    if script.fails:
        assert turn.failure is not None
        assert (turn.failure.code, turn.failure.turn) == ("provider", number)
        assert not turn.completed
    else:
        assert (turn.failure, turn.output, turn.completed) == (None, script.text, True)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(SCRIPTS, CONNECTIONS, st.booleans(), st.booleans())
def test_text_and_tools_are_told_once_and_each_turn_has_one_verdict(
    scripts: list[Script], connections: list[Connection], ids: bool, final: bool
) -> None:
    client = FlakyClient(scripts, connections, ids=ids, final=final or ids)
    turns = run(conversation_of(client))
    assert len(turns) == len(scripts) == client.sent
    for number, (turn, script) in enumerate(zip(turns, scripts, strict=True), start=1):
        check(turn, number, script)
        assert turn.possibly_truncated == (turn.reconnects > 0 and not turn.has_final_text)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    SCRIPTS.map(lambda scripts: scripts[0].steps),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["eof", "cut", "reset"])), max_size=4).map(
        sorted
    ),
)
def test_over_a_socket_cuts_at_any_byte_lose_and_repeat_nothing(
    steps: tuple[str | None, ...], cuts: list[tuple[float, Literal["eof", "cut", "reset"]]]
) -> None:
    """Each connection sends the backlog so far, and breaks at a byte."""
    frames = [
        wire_answers.tool_use("t", f"c{number}")
        if step is None
        else wire_answers.output(step, timestamp=10_000 + number)
        for number, step in enumerate(steps)
    ]
    text = "".join(step for step in steps if step is not None)
    whole = b"".join(frames) + wire_answers.complete(finalText=text)
    connections = [
        stream(CONNECTED, AfterMessage(1), whole[: int(share * (len(whole) - 1))], end=end)
        for share, end in cuts
    ]
    last = stream(CONNECTED, AfterMessage(1), whole)
    row = run(held(events=[*connections, last]))
    row.passed(text, *(f"c{number}" for number, step in enumerate(steps) if step is None))
    assert "streamedText" not in row.turns[0]
