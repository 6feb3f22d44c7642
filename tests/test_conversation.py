"""A conversation with a client that does exactly what the test says, event by event."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lobu_provider.conversation import Conversation, TalkRules
from lobu_provider.errors import InfrastructureError, error_for, failure
from lobu_provider.event_loop import run
from lobu_provider.events import Event, Frame, parse_event
from lobu_provider.gateway_client import GatewayClient, SentMessage, Session
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.session_life import SessionPlan, open_conversation
from lobu_provider.turn import Turn, fold_turn
from lobu_provider.turn_clock import TurnLimits
from tests.test_turn import complete, error, event, output, tool

pytestmark = [pytest.mark.anyio]

Reply = Callable[[str], list[Event]]
"""What the gateway sends on its stream for a message id."""


class FakeClient:
    """Answers each message with the events of the next reply."""

    limits = RequestLimits()

    def __init__(self, *replies: Reply, comment_first: bool = False) -> None:
        self.replies = list(replies)
        self.comment_first = comment_first
        self.deleted = False
        self.on_delete: list[Event] = []
        self.echo: Callable[[str], str] = lambda message_id: message_id
        self.ids: list[str] = []
        self.streams = 0
        self._send, self._receive = anyio.create_memory_object_stream[Event](10_000)

    async def create_session(self, agent_id: str, *, thread: str, **_: Any) -> Session:
        return Session(id="s", agent_id=agent_id, thread=thread, token="t" * 16)

    async def send_message(
        self, session: Session, content: str, *, message_id: str, **_: Any
    ) -> SentMessage:
        self.ids.append(message_id)
        for sent in self.replies.pop(0)(message_id):
            await self._send.send(sent)
        return SentMessage(message_id=self.echo(message_id), job_id=None, trace_id=None)

    @asynccontextmanager
    async def stream_events(
        self, session: Session, *, on_bytes: Callable[[], None], **_: Any
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        self.streams += 1
        if self.streams > 1:
            raise error_for(failure("not_found", "The session is gone.", phase="connect"))

        async def frames() -> AsyncIterator[Frame]:
            on_bytes()
            if not self.comment_first:
                yield frame_of(event("connected", None, at=1000))
            async with self._receive:
                async for sent in self._receive:
                    yield frame_of(sent)

        yield frames()

    async def delete_session(self, session: Session) -> None:
        self.deleted = True
        for late in self.on_delete:
            await self._send.send(late)
        self._send.close()


def frame_of(sent: Event) -> Frame:
    return Frame(sent.name, json.dumps(dict(sent.data)), sent.id)


@asynccontextmanager
async def talk(
    client: FakeClient, *, rules: TalkRules | None = None, **plan: Any
) -> AsyncIterator[Conversation]:
    session = SessionPlan("agent", **plan)
    opening = open_conversation(cast(GatewayClient, client), session, rules=rules)
    try:
        with anyio.fail_after(10):
            async with opening as conversation:
                yield conversation
    finally:
        client._send.close()
        client._receive.close()


async def test_what_comes_in_one_piece_with_the_end_of_a_turn_still_counts() -> None:
    client = FakeClient(lambda m: [complete("done", m), tool("delete_account", m)])
    async with talk(client) as conversation:
        await conversation.say("hi")
    assert [call.name for call in conversation.turns[0].tool_calls] == ["delete_account"]


async def test_an_error_right_after_the_end_of_the_last_turn_makes_it_fail() -> None:
    client = FakeClient(lambda m: [complete("done", m), error("429 slow down", m)])
    async with talk(client) as conversation:
        assert (await conversation.say("hi")).failure is None
    failure = conversation.turns[0].failure
    assert failure is not None
    assert (failure.code, failure.turn) == ("rate_limit", 1)


async def test_evidence_that_comes_while_the_session_is_deleted_goes_to_its_turn() -> None:
    client = FakeClient(lambda m: [complete("one", m)], lambda m: [complete("two", m)])
    async with talk(client) as conversation:
        await conversation.say("1")
        await conversation.say("2")
        client.on_delete = [tool("late", client.ids[0])]
    assert [[c.name for c in turn.tool_calls] for turn in conversation.turns] == [["late"], []]


async def test_a_tool_call_of_an_earlier_turn_that_comes_during_a_later_one_is_put_back() -> None:
    client = FakeClient(
        lambda m: [complete("one", m)],
        lambda m: [tool("late", client.ids[0]), complete("two", m)],
    )
    async with talk(client) as conversation:
        await conversation.say("1")
        second = await conversation.say("2")
    assert second.tool_calls == ()
    assert [call.name for call in conversation.turns[0].tool_calls] == ["late"]


async def test_in_a_fresh_thread_nothing_is_taken_for_a_replay() -> None:
    old = event("error", None, error="429 slow down", at=1)
    client = FakeClient(lambda m: [old, complete("done", m)])
    async with talk(client) as conversation:
        turn = await conversation.say("hi")
    assert turn.failure is not None


async def test_in_a_resumed_thread_what_is_older_than_the_connection_is_a_replay() -> None:
    old = [event("error", None, error="429 slow down", at=1), event("question", None, at=1)]
    client = FakeClient(lambda m: [*old, complete("done", m)])
    async with talk(client, thread="t", resume=True) as conversation:
        turn = await conversation.say("hi")
    assert (turn.failure, turn.interactions) == (None, ())


async def test_a_message_id_that_the_gateway_gives_twice_is_refused() -> None:
    client = FakeClient(lambda _: [complete("one", "same")], lambda _: [complete("one", "same")])
    client.echo = lambda _: "same"
    async with talk(client) as conversation:
        assert (await conversation.say("1")).failure is None
        failure = (await conversation.say("2")).failure
    assert failure is not None
    assert (failure.code, failure.phase) == ("gateway", "send")


async def test_a_bare_end_fails_once_the_gateway_has_shown_that_it_sends_final_texts() -> None:
    client = FakeClient(
        lambda m: [output("one", m), complete("one", m)],
        lambda m: [output("The refund is", m), complete(None, m)],
    )
    async with talk(client) as conversation:
        await conversation.say("1")
        turn = await conversation.say("2")
    assert turn.failure is not None
    assert (turn.failure.code, turn.output) == ("timeout", "The refund is")


async def test_after_the_stream_has_ended_no_message_is_sent_any_more() -> None:
    client = FakeClient(lambda m: [complete("one", m)], lambda m: [complete("two", m)])
    async with talk(client) as conversation:
        await conversation.say("1")
        client._send.close()
        await anyio.wait_all_tasks_blocked()
        failure = (await conversation.say("2")).failure
    assert failure is not None
    assert failure.code == "stream_lost"
    assert "could not be opened again" in failure.message
    assert (len(client.ids), client.streams) == (1, 2)


async def test_an_exception_in_a_listener_keeps_what_the_turn_had() -> None:
    def broken(_: Event) -> None:
        raise ValueError("mine")

    client = FakeClient(lambda m: [output("so far", m), complete("so far and on", m)])
    async with talk(client) as conversation:
        with pytest.raises(ValueError, match="mine"):
            await conversation.say("hi", broken)
    assert conversation.turns[0].output == "so far"
    assert conversation.turns[0].failure is not None


async def test_a_kept_session_is_not_deleted_and_others_are() -> None:
    kept, gone = (FakeClient(lambda m: [complete("x", m)]) for _ in range(2))
    async with talk(kept, keep=True) as conversation:
        await conversation.say("hi")
    async with talk(gone) as conversation:
        (await conversation.say("hi")).raise_for_failure()
    assert (kept.deleted, gone.deleted) == (False, True)


async def test_a_failed_turn_raises_when_asked() -> None:
    client = FakeClient(lambda m: [error("Worker startup failed", m), complete(None, m)])
    async with talk(client) as conversation:
        with pytest.raises(InfrastructureError, match="Worker startup failed"):
            (await conversation.say("hi")).raise_for_failure()


async def test_an_earlier_bare_end_is_judged_again_once_final_texts_are_known() -> None:
    client = FakeClient(
        lambda m: [output("I will now check", m), complete(None, m)],
        lambda m: [complete("two", m)],
    )
    async with talk(client) as conversation:
        assert (await conversation.say("1")).failure is None
        await conversation.say("2")
    failure = conversation.turns[0].failure
    assert failure is not None
    assert (failure.code, failure.turn) == ("timeout", 1)


async def test_late_evidence_of_a_merged_turn_counts_under_the_other_message_too() -> None:
    client = FakeClient(
        lambda m: [
            output("done", "m-0"),
            complete("done", "m-0", processedMessageIds=["m-0", m]),
            tool("delete_all", "m-0"),
            error("429 slow down", "m-0"),
        ]
    )
    async with talk(client) as conversation:
        await conversation.say("hi")
    (turn,) = conversation.turns
    assert [call.name for call in turn.tool_calls] == ["delete_all"]
    assert turn.failure is not None


async def test_a_backlog_that_the_reply_to_the_message_overtakes_is_still_one() -> None:
    """The events come after the message was taken, the old ones first."""
    connected = event("connected", None, at=1000)
    old = [event("question", None, at=1), event("tool_use", None, name="delete", at=2)]
    client = FakeClient(lambda m: [connected, *old, complete("", m)])
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        turn = await conversation.say("hi")
    assert (turn.interactions, turn.tool_calls) == ((), ())
    assert turn.failure is not None
    assert turn.failure.code == "empty"


async def test_what_is_older_than_the_thread_is_a_replay_also_behind_an_event_of_the_turn() -> None:
    connected = event("connected", None, at=1000)
    client = FakeClient(
        lambda m: [
            connected,
            event("status", m, at=3),
            event("question", None, at=4),
            complete("", m),
        ]
    )
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        turn = await conversation.say("hi")
    assert turn.interactions == ()
    assert turn.failure is not None
    assert turn.failure.code == "empty"


async def test_an_event_of_the_turn_before_connected_tells_what_is_older_and_ends_no_backlog() -> (
    None
):
    """What came between the two is of now, what follows ``connected`` and is older is not."""
    now, old = event("suggestion", None, at=950), event("question", None, at=1)
    client = FakeClient(
        lambda m: [event("status", m, at=900), now, CONNECTED, old, complete("", m)],
        comment_first=True,
    )
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        turn = await conversation.say("hi")
    assert [told.name for told in turn.interactions] == ["suggestion"]


async def test_an_old_card_is_a_replay_also_where_the_connection_is_confirmed_late() -> None:
    old = event("question", None, at=1)
    client = FakeClient(
        lambda m: [event("connected", None, at=1000), old, complete("", m)], comment_first=True
    )
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        turn = await conversation.say("hi")
    assert turn.interactions == ()
    assert turn.failure is not None
    assert turn.failure.code == "empty"


# Before the thread's past is known: a card, a tool call and an error that name no message.
OLD_TOOL = event("tool_use", None, name="delete", at=1)
OLD_ERROR = event("error", None, error="429 slow down", at=1)
OLD_NOTICE = event("ephemeral", None, content="Sign in", at=1)
NEW_TOOL = event("tool_use", None, name="delete", at=1500)
CONNECTED = event("connected", None, at=1000)


@asynccontextmanager
async def half_told(*first: Event, then: Reply) -> AsyncIterator[tuple[list[Turn], list[Event]]]:
    """Send ``first`` in answer to a message, before ``connected``; when all that it may lead to has
    been done, the rest. Yields the turn, once it is over, and what the listener heard before.
    """
    turns: list[Turn] = []
    heard: list[Event] = []
    client = FakeClient(lambda _: list(first), comment_first=True)

    def stop(told: Event) -> str | None:
        heard.append(told)
        return "stopped" if told.name == "tool_use" else None

    async with talk(client, thread="t", resume=True, keep=True) as conversation:

        async def say() -> None:
            turns.append(await conversation.say("hi", stop_when=stop))

        async with anyio.create_task_group() as group:
            group.start_soon(say)
            await anyio.wait_all_tasks_blocked()
            assert (turns, heard) == ([], [])
            for sent in then(client.ids[0]):
                await client._send.send(sent)
        yield turns, heard


@pytest.mark.parametrize("old", [OLD_TOOL, OLD_ERROR, OLD_NOTICE])
@pytest.mark.parametrize("connected", [[CONNECTED], []])
async def test_what_may_be_of_an_earlier_turn_ends_none_before_that_is_clear(
    old: Event, connected: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lobu_provider.conversation.ERROR_GRACE_S", 0.0)
    monkeypatch.setattr("lobu_provider.conversation.NOTICE_GRACE_S", 0.0)
    ending = half_told(old, then=lambda m: [*connected, complete("done", m)])
    async with ending as ((turn,), heard):
        assert (turn.output, turn.failure, turn.cut_short) == ("done", None, None)
        assert (turn.tool_calls, turn.interactions) == ((), ())
        assert old.name not in [told.name for told in heard]


async def test_what_proves_to_be_of_this_turn_ends_it_as_soon_as_that_is_clear() -> None:
    async with half_told(NEW_TOOL, then=lambda _: [CONNECTED]) as ((turn,), heard):
        assert (turn.cut_short, turn.failure) == ("stopped", None)
        assert [call.name for call in turn.tool_calls] == ["delete"]
        assert [told.name for told in heard] == ["tool_use"]


async def test_once_a_turn_was_told_what_names_no_message_is_no_replay_in_the_next() -> None:
    """Also where no ``connected`` comes, by which that could be told."""
    card = event("question", None, at=2500)
    client = FakeClient(
        lambda m: [complete("one", m)], lambda m: [card, complete("two", m)], comment_first=True
    )
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        await conversation.say("1")
        second = await conversation.say("2")
    assert [told.name for told in second.interactions] == ["question"]


async def test_a_replay_is_one_however_late_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals = {"ping": 0.0, "connected": 100.0, "error": 200.0, "complete": 201.0}
    monkeypatch.setattr(
        "lobu_provider.event_stream.parse_event",
        lambda frame, **_: parse_event(frame, received_s=arrivals[frame.event]),
    )
    client = FakeClient(
        lambda m: [event("ping", None), CONNECTED, OLD_ERROR, complete("done", m)],
        comment_first=True,
    )
    async with talk(client, thread="t", resume=True, keep=True) as conversation:
        turn = await conversation.say("hi")
    assert (turn.output, turn.failure) == ("done", None)


NOTICE = "Sign in: https://x"


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("ping", {}, "action_required"),
        ("question", {}, "action_required"),
        ("ephemeral", {"content": "Sign in there, too"}, "action_required"),
        ("status", {"status": {"state": "is running..", "elapsedSeconds": 20}}, "timeout"),
        ("output", {"content": "I will "}, "timeout"),
        ("tool_use", {"name": "lookup"}, "timeout"),
        ("file-uploaded", {"fileId": "f"}, "timeout"),
    ],
)
async def test_a_notice_ends_a_turn_soon_unless_anything_shows_that_the_agent_goes_on(
    name: str, data: dict[str, Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lobu_provider.conversation.NOTICE_GRACE_S", 0.1)
    client = FakeClient(
        lambda m: [
            event("ephemeral", m, content=NOTICE),
            event(name, None if name == "ping" else m, **data),
        ]
    )
    rules = TalkRules(limits=TurnLimits(idle_s=0.5))
    async with talk(client, rules=rules) as conversation:
        turn = await conversation.say("hi")
    assert turn.failure is not None
    assert turn.failure.code == code
    assert turn.interactions[0].data["content"] == NOTICE


async def test_an_agent_that_goes_on_too_late_after_a_notice_does_not_undo_its_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lobu_provider.conversation.NOTICE_GRACE_S", 0.0)
    client = FakeClient(lambda m: [event("ephemeral", m, content=NOTICE)])
    async with talk(client) as conversation:
        await conversation.say("hi")
        client.on_delete = [tool("slow", client.ids[0])]
    (turn,) = conversation.turns
    assert [call.name for call in turn.tool_calls] == ["slow"]
    assert turn.failure is not None
    assert (turn.failure.code, turn.failure.turn) == ("action_required", 1)


async def test_many_late_events_are_folded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    folds = []

    def counted(*args: Any, **options: Any) -> Turn:
        folds.append(1)
        return fold_turn(*args, **options)

    monkeypatch.setattr("lobu_provider.exchange.fold_turn", counted)
    client = FakeClient(lambda m: [complete("done", m), *[tool(f"late{n}", m) for n in range(90)]])
    async with talk(client) as conversation:
        await conversation.say("hi")
    assert len(conversation.turns[0].tool_calls) == 90
    assert len(folds) < 5


async def test_a_session_that_is_made_while_the_call_is_interrupted_is_deleted() -> None:
    client = FakeClient()
    started, finish = anyio.Event(), anyio.Event()

    async def slow(agent_id: str, *, thread: str, **_: Any) -> Session:
        started.set()
        await finish.wait()
        return Session(id="s", agent_id=agent_id, thread=thread, token="t" * 16)

    client.create_session = slow  # type: ignore[method-assign]

    async def interrupted() -> None:
        async with talk(client):
            raise AssertionError("never opened")

    async with anyio.create_task_group() as group:
        group.start_soon(interrupted)
        with anyio.fail_after(5):
            await started.wait()
            finish.set()
            group.cancel_scope.cancel()
    assert client.deleted


def test_a_loop_does_not_wait_for_a_thread_that_hangs() -> None:
    release = threading.Event()

    async def main() -> str:
        asyncio.get_running_loop().run_in_executor(None, release.wait, 30)
        return "answer"

    try:
        assert run(main()) == "answer"
        assert not release.is_set()
    finally:
        release.set()


async def test_late_evidence_behind_a_flood_of_text_is_reached() -> None:
    client = FakeClient(lambda m: [complete("done", m)])
    async with talk(client) as conversation:
        await conversation.say("hi")
        (message_id,) = client.ids
        flood = [output("x", message_id) for _ in range(3000)]
        client.on_delete = [*flood, tool("late", message_id)]
    assert [call.name for call in conversation.turns[0].tool_calls] == ["late"]


async def test_the_text_of_a_merged_turn_keeps_it_alive_and_its_notice_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lobu_provider.conversation.NOTICE_GRACE_S", 0.0)
    heard: list[str] = []
    client = FakeClient(
        lambda m: [
            event("ephemeral", "m-9", content=NOTICE, processedMessageIds=["m-9", m]),
            output("I am about to", "m-9"),
        ]
    )
    async with talk(client) as conversation, anyio.create_task_group() as group:

        async def say() -> None:
            await conversation.say("hi", lambda told: heard.append(told.name))

        group.start_soon(say)
        await anyio.wait_all_tasks_blocked()
        assert (heard, conversation.turns) == (["ephemeral", "output"], [])
        processed = ["m-9", client.ids[0]]
        await client._send.send(complete("done", "m-9", processedMessageIds=processed))
    assert (conversation.turns[0].output, conversation.turns[0].failure) == ("done", None)


_PARTS: st.SearchStrategy[tuple[str, str, bool, int | None]] = st.tuples(
    st.sampled_from(
        ["ephemeral", "output", "tool_use", "question", "status", "error", "complete", "connected"]
    ),
    st.sampled_from(["", "mine", "other"]),
    st.booleans(),
    st.sampled_from([None, 1, 1000, 2000]),
)


def _part(mine: str, name: str, whose: str, names_mine: bool, at: int | None) -> Event:
    data: dict[str, Any] = {
        "ephemeral": {"content": NOTICE},
        "output": {"content": "x"},
        "tool_use": {"name": "t", "toolCallId": "c"},
        "error": {"error": "500 boom"},
    }.get(name, {})
    if names_mine and whose:
        data["processedMessageIds"] = ["m-9", mine]
    return event(name, {"": None, "mine": mine, "other": "m-9"}[whose], at=at, **data)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(_PARTS, max_size=7), st.booleans(), st.booleans())
def test_whatever_comes_in_whichever_order_a_turn_is_completed_or_failed(
    parts: list[tuple[str, str, bool, int | None]], resumed: bool, late: bool
) -> None:
    client = FakeClient(lambda m: [_part(m, *part) for part in parts], comment_first=late)
    rules = TalkRules(limits=TurnLimits(idle_s=0.03))
    plan: dict[str, Any] = {"thread": "t", "resume": True, "keep": True} if resumed else {}

    async def said() -> Turn:
        async with talk(client, rules=rules, **plan) as conversation:
            return await conversation.say("hi")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lobu_provider.conversation.NOTICE_GRACE_S", 0.01)
        patch.setattr("lobu_provider.conversation.ERROR_GRACE_S", 0.01)
        turn = run(said())
    assert turn.completed or turn.failure is not None
