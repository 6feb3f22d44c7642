"""A gate lets in so many at once, in the order in which they came."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from anyio.lowlevel import checkpoint

from lobu_provider.promptfoo.gate import Gate

pytestmark = pytest.mark.anyio

LIMIT_S = 20.0


async def until_waiting(gate: Gate, count: int) -> None:
    with anyio.fail_after(LIMIT_S):
        while gate.waiting != count:
            await checkpoint()


async def test_as_many_as_the_limit_are_let_in_without_waiting() -> None:
    gate = Gate()
    with anyio.fail_after(LIMIT_S):
        await gate.enter(2)
        await gate.enter(2)
    assert gate.waiting == 0


async def test_whoever_waits_longest_is_next_and_each_leaving_lets_one_in() -> None:
    gate, order = Gate(), []

    async def visit(name: str) -> None:
        await gate.enter(1)
        order.append(name)

    await gate.enter(1)
    async with anyio.create_task_group() as group:
        for count, name in enumerate("abc", start=1):
            group.start_soon(visit, name)
            await until_waiting(gate, count)
        for waiting in (2, 1, 0):
            gate.leave()
            await until_waiting(gate, waiting)
    assert order == ["a", "b", "c"]


async def test_the_next_is_not_overtaken_by_one_whose_own_limit_is_higher() -> None:
    gate, order = Gate(), []

    async def visit(name: str, limit: int) -> None:
        await gate.enter(limit)
        order.append(name)

    await gate.enter(1)
    async with anyio.create_task_group() as group:
        group.start_soon(visit, "low", 1)
        await until_waiting(gate, 1)
        group.start_soon(visit, "high", 9)
        await until_waiting(gate, 2)
        gate.leave()
    assert order == ["low", "high"]


async def test_one_that_gives_up_is_skipped() -> None:
    gate = Gate()
    await gate.enter(1)
    async with anyio.create_task_group() as group:
        group.start_soon(gate.enter, 1)
        await until_waiting(gate, 1)
        group.cancel_scope.cancel()
    assert gate.waiting == 0
    gate.leave()
    with anyio.fail_after(LIMIT_S):
        await gate.enter(1)


async def test_one_that_gives_up_in_the_moment_it_is_let_in_gives_the_place_back() -> None:
    gate = Gate()
    await gate.enter(1)
    task = asyncio.ensure_future(gate.enter(1))
    await until_waiting(gate, 1)
    gate.leave()  # its task has not run since
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with anyio.fail_after(LIMIT_S):
        await gate.enter(1)


async def test_one_that_gives_up_makes_way_for_the_next() -> None:
    gate = Gate()
    await gate.enter(2)
    async with anyio.create_task_group() as group:
        narrow = asyncio.ensure_future(gate.enter(1))
        await until_waiting(gate, 1)
        group.start_soon(gate.enter, 2)
        await until_waiting(gate, 2)
        narrow.cancel()
    assert gate.waiting == 0
    with pytest.raises(asyncio.CancelledError):
        await narrow


async def test_calls_in_other_event_loops_wait_for_each_other_too() -> None:
    gate, inside = Gate(), threading.Event()
    await gate.enter(1)

    async def elsewhere() -> None:
        await gate.enter(1)
        inside.set()
        gate.leave()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: asyncio.run(elsewhere()))
        await until_waiting(gate, 1)
        assert not inside.is_set()
        gate.leave()
        await asyncio.wait_for(asyncio.wrap_future(other), LIMIT_S)
    assert inside.is_set()


async def test_one_whose_event_loop_is_gone_is_skipped() -> None:
    gate = Gate()
    await gate.enter(1)

    def wait_in_a_loop_that_is_closed() -> asyncio.Task[None]:
        loop = asyncio.new_event_loop()
        task = loop.create_task(gate.enter(1))
        while not gate.waiting:
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        return task

    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(wait_in_a_loop_that_is_closed).result(LIMIT_S)
    gate.leave()
    with anyio.fail_after(LIMIT_S):
        await gate.enter(1)
    left._log_destroy_pending = False  # type: ignore[attr-defined]  # it can never end
