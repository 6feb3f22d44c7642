"""Calls that have to wait for others: on one thread, and where a gateway has few workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from lobu_provider.abort import Abort
from lobu_provider.config.settings import Settings, load_settings
from lobu_provider.promptfoo import admission, provider
from lobu_provider.promptfoo.admission import StartGaps, gates_of, place
from lobu_provider.promptfoo.provider import LobuProvider
from lobu_provider.session_life import SessionPlan
from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    answers,
    call,
    complete,
    created,
    stream,
)
from tests.wire.wire_gateway import Exchange, WireGateway

pytestmark = pytest.mark.anyio

LIMIT_S = 20.0
FRESH = SessionPlan("a", thread="t-fresh")
PINNED = SessionPlan("a", thread="t-1", resume=True, keep=True)


def load(**config: Any) -> Settings:
    return load_settings({"config": {"agent": "a", "gateway": "http://h", **config}})


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(LIMIT_S):
        while not condition():
            await checkpoint()


def waiting() -> int:
    return sum(gate.waiting for gate in admission._gates.values())


async def is_held_back(first: tuple[Any, Any], second: tuple[Any, Any]) -> bool:
    """Return whether the second call waits until the first has ended; it gets in afterwards."""
    inside: list[bool] = []

    async def other() -> None:
        async with place(gates_of(*second)):
            inside.append(True)

    async with anyio.create_task_group() as group, AsyncExitStack() as held:
        with anyio.fail_after(LIMIT_S):
            await held.enter_async_context(place(gates_of(*first)))
        group.start_soon(other)
        await until(lambda: bool(waiting() or inside))
        held_back = not inside
        await held.aclose()
        await until(lambda: bool(inside))
    assert not admission._gates
    assert not admission._users
    return held_back


async def test_without_a_limit_nobody_waits() -> None:
    assert not await is_held_back((load(), FRESH), (load(), FRESH))


async def test_no_more_sessions_than_allowed_talk_to_a_gateway_at_once() -> None:
    one = load(maxConcurrentSessions=1)
    assert await is_held_back((one, FRESH), (one, SessionPlan("b", thread="other")))
    assert not await is_held_back((one, FRESH), (load(maxConcurrentSessions=2), FRESH))


async def test_another_gateway_has_places_of_its_own() -> None:
    one, other = load(maxConcurrentSessions=1), load(gateway="http://g", maxConcurrentSessions=1)
    assert not await is_held_back((one, FRESH), (other, FRESH))


async def test_calls_on_one_thread_go_one_after_the_other() -> None:
    assert await is_held_back((load(), PINNED), (load(), PINNED))


@pytest.mark.parametrize(
    ("config", "session"),
    [
        ({}, SessionPlan("a", thread="t-2", resume=True)),
        ({}, SessionPlan("b", thread="t-1", resume=True)),
        ({"org": "other"}, PINNED),
        ({"gateway": "http://g"}, PINNED),
    ],
)
async def test_the_same_name_of_a_thread_elsewhere_is_another_thread(
    config: dict[str, Any], session: SessionPlan
) -> None:
    assert not await is_held_back((load(), PINNED), (load(**config), session))


async def test_a_call_that_waits_for_its_thread_keeps_no_place_from_others() -> None:
    two = load(maxConcurrentSessions=2)
    async with anyio.create_task_group() as group, place(gates_of(two, PINNED)):
        group.start_soon(_visit, two, PINNED)
        await until(lambda: waiting() == 1)
        with anyio.fail_after(LIMIT_S):
            async with place(gates_of(two, FRESH)):
                pass


async def _visit(settings: Settings, session: SessionPlan) -> None:
    async with place(gates_of(settings, session)):
        pass


async def test_a_call_that_stops_waiting_leaves_nothing_behind() -> None:
    one = load(maxConcurrentSessions=1)
    async with place(gates_of(one, FRESH)):
        async with anyio.create_task_group() as group:
            group.start_soon(_visit, one, PINNED)
            await until(lambda: waiting() == 1)
            group.cancel_scope.cancel()
        assert waiting() == 0
    assert admission._gates == {}


# --- apart in time


class Clock:
    """Time that passes only when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.slept: list[float] = []

    def read_s(self) -> float:
        return self.now_s

    async def sleep(self, delay_s: float) -> None:
        self.slept.append(delay_s)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gaps(clock: Clock) -> StartGaps:
    return StartGaps(clock.read_s, clock.sleep)


async def test_sessions_start_apart(clock: Clock, gaps: StartGaps) -> None:
    for _ in range(3):
        await gaps.wait("http://h", 0.4)
    assert clock.slept == pytest.approx([0.4, 0.8])


async def test_who_stops_waiting_gives_the_start_to_the_next_comer(clock: Clock) -> None:
    async def interrupted(delay_s: float) -> None:
        raise TimeoutError

    sleeps: list[Callable[[float], Awaitable[None]]] = [clock.sleep]
    gaps = StartGaps(clock.read_s, lambda delay_s: sleeps[0](delay_s))
    await gaps.wait("http://h", 1.0)
    await gaps.wait("http://h", 1.0)
    sleeps[0] = interrupted
    for _ in range(30):
        with pytest.raises(TimeoutError):
            await gaps.wait("http://h", 1.0)
    sleeps[0] = clock.sleep
    await gaps.wait("http://h", 1.0)
    assert clock.slept == pytest.approx([1.0, 2.0])


async def test_a_start_that_was_given_back_before_others_is_used_too(clock: Clock) -> None:
    wakes: list[anyio.Event] = []

    async def sleep(delay_s: float) -> None:
        clock.slept.append(delay_s)
        wakes.append(anyio.Event())
        await wakes[-1].wait()

    gaps = StartGaps(clock.read_s, sleep)
    await gaps.wait("http://h", 0.1)
    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as first:
            first.start_soon(gaps.wait, "http://h", 0.1)
            await until(lambda: len(wakes) == 1)
            group.start_soon(gaps.wait, "http://h", 0.1)
            await until(lambda: len(wakes) == 2)
            first.cancel_scope.cancel()
        group.start_soon(gaps.wait, "http://h", 0.1)
        await until(lambda: len(wakes) == 3)
        group.cancel_scope.cancel()
    assert clock.slept == pytest.approx([0.1, 0.2, 0.1])


async def test_a_gap_that_has_passed_is_not_waited_for(clock: Clock, gaps: StartGaps) -> None:
    await gaps.wait("http://h", 0.4)
    clock.now_s += 0.5
    await gaps.wait("http://h", 0.4)
    assert clock.slept == []


async def test_without_a_gap_and_at_another_gateway_nobody_waits(
    clock: Clock, gaps: StartGaps
) -> None:
    await gaps.wait("http://h", 0.4)
    await gaps.wait("http://h", 0.0)
    await gaps.wait("http://g", 0.4)
    assert clock.slept == []


async def test_each_session_of_a_call_starts_a_gap_after_the_last(
    clock: Clock, gaps: StartGaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "START_GAPS", gaps)
    config = {"agent": "support-agent", "gateway": "script:demo", "sessionStartGapMs": 400}
    for _ in range(2):
        row = await LobuProvider({"config": config}).call_api("How do refunds work?")
        assert "error" not in row
    assert clock.slept == pytest.approx([0.4])


# --- through the provider


async def test_two_calls_on_one_thread_over_a_socket_do_not_overlap() -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    async def slow(exchange: Exchange) -> None:
        begun.set()
        await may_end.wait()
        await created(exchange)

    events = [
        stream(CONNECTED, AfterMessage(number), complete(f"m-{number}", finalText="fine"))
        for number in (1, 2)
    ]
    rows: list[dict[str, Any]] = []

    async def one() -> None:
        rows.append(await call(gateway.url, "hello", thread="t-1"))

    async with (
        WireGateway(answers(create=[slow, created], events=events)) as gateway,
        anyio.create_task_group() as group,
    ):
        group.start_soon(one)
        await begun.wait()
        group.start_soon(one)
        await until(lambda: waiting() == 1)
        assert len(gateway.requests) == 1
        may_end.set()
    assert [row.get("error") for row in rows] == [None, None]
    assert [r.kind for r in gateway.requests] == ["create", "events", "message"] * 2


async def test_an_abort_ends_the_wait_for_a_place() -> None:
    options = {"config": {"agent": "a", "gateway": "http://h", "maxConcurrentSessions": 1}}
    rows: list[dict[str, Any]] = []
    abort = Abort()

    async def one() -> None:
        rows.append(await LobuProvider(options).call_api("hello", abort=abort))

    async with place(gates_of(load_settings(options), FRESH)), anyio.create_task_group() as group:
        group.start_soon(one)
        await until(lambda: waiting() == 1)
        abort.set()
    (row,) = rows
    assert row["error"].startswith("[cancelled]")
    assert row["output"] == ""


async def test_promptfoos_own_limit_ends_the_wait_for_a_place() -> None:
    options = {"config": {"agent": "a", "gateway": "http://h", "maxConcurrentSessions": 1}}
    async with place(gates_of(load_settings(options), FRESH)):
        with anyio.fail_after(LIMIT_S):
            row = await LobuProvider(options, host_limit_s=0.001).call_api("hello")
    assert row["error"].startswith("[timeout] promptfoo's own limit")
    assert row["metadata"]["error"]["phase"] == "create"
