"""Which calls run, which wait, and how they end; in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from lobu_provider.abort import Abort
from lobu_provider.stdio_bridge.calls import Calls
from lobu_provider.stdio_bridge.protocol import Call

pytestmark = pytest.mark.anyio


class Scene:
    """Calls that end when told, and what was sent."""

    def __init__(self, limit: int = 2) -> None:
        self.started: list[int | str] = []
        self.sent: dict[int | str, Any] = {}
        self.done: list[int | str] = []
        self.gates: dict[int | str, anyio.Event] = {}
        self.pipe = anyio.Event()
        self.pipe.set()
        self.calls = Calls(self._answer, self._send, limit=limit)

    def begin(self, *call_ids: int) -> None:
        for call_id in call_ids:
            self.gates[call_id] = anyio.Event()
            call = Call(call_id, "", {}, None)
            self.calls.begin(call, lambda call_id=call_id: self.done.append(call_id))  # type: ignore[misc]

    async def _answer(self, call: Call, abort: Abort) -> Mapping[str, Any]:
        self.started.append(call.id)
        with abort.listening(self.gates[call.id].set):
            await self.gates[call.id].wait()
        return {"output": "stopped" if abort.is_set else "answered"}

    async def _send(self, line: bytes) -> None:
        await self.pipe.wait()
        message = json.loads(line)
        self.sent[message["id"]] = message["response"]


async def settle() -> None:
    await anyio.wait_all_tasks_blocked()


async def test_no_more_than_the_limit_run_and_the_others_follow_in_order() -> None:
    scene = Scene()
    scene.begin(1, 2, 3, 4)
    await settle()
    assert scene.started == [1, 2]
    scene.gates[2].set()
    await settle()
    assert scene.started == [1, 2, 3]
    assert scene.sent == {2: {"output": "answered"}}
    assert scene.done == [2]
    assert [call_id in scene.calls for call_id in (1, 2, 3, 4)] == [True, False, True, True]
    await scene.calls.stop(5)


async def test_a_call_keeps_its_place_until_its_result_is_written() -> None:
    scene = Scene()
    scene.pipe = anyio.Event()
    scene.begin(1, 2, 3)
    await settle()
    scene.gates[1].set()
    await settle()
    assert scene.started == [1, 2]
    scene.pipe.set()
    await settle()
    assert scene.started == [1, 2, 3]
    await scene.calls.stop(5)


async def test_a_waiting_call_can_be_cancelled_and_takes_no_place() -> None:
    scene = Scene()
    scene.begin(1, 2, 3, 4)
    await settle()
    scene.calls.cancel(3)
    await settle()
    assert scene.sent == {3: {"output": "stopped"}}
    assert 4 not in scene.started
    await scene.calls.stop(5)


async def test_a_running_call_can_be_cancelled_and_an_unknown_one_is_no_matter() -> None:
    scene = Scene()
    scene.begin(1)
    await settle()
    scene.calls.cancel(1)
    scene.calls.cancel(99)
    await settle()
    assert scene.sent == {1: {"output": "stopped"}}
    scene.calls.cancel(1)


async def test_stopping_drops_what_waits_and_aborts_what_runs() -> None:
    scene = Scene()
    scene.begin(1, 2, 3)
    await settle()
    await scene.calls.stop(5)
    assert scene.started == [1, 2]
    assert set(scene.sent) == {1, 2}


async def test_after_the_close_nothing_begins_also_where_a_place_becomes_free() -> None:
    scene = Scene()
    scene.begin(1, 2, 3)
    await settle()
    assert scene.calls.close() == [1, 2]
    scene.gates[1].set()
    await settle()
    assert scene.sent == {1: {"output": "answered"}}
    await scene.calls.stop(5)
    assert scene.started == [1, 2]


async def test_stopping_does_not_wait_for_what_does_not_stop() -> None:
    scene = Scene()
    scene.pipe = anyio.Event()  # nobody reads the results
    scene.begin(1)
    await settle()
    with anyio.fail_after(10):
        await scene.calls.stop(0.01)
    assert scene.sent == {}
    scene.pipe.set()
    await settle()


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (RuntimeError("boom"), "RuntimeError: boom"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ],
)
async def test_what_a_call_raises_is_its_error_and_nobody_else_s(
    fault: BaseException, name: str
) -> None:
    sent: list[Any] = []

    async def answer(call: Call, abort: Abort) -> Mapping[str, Any]:
        if call.id == 1:
            raise fault
        return {"output": "fine"}

    async def send(line: bytes) -> None:
        sent.append(json.loads(line))

    calls = Calls(answer, send)
    calls.begin(Call(1, "", {}, None))
    calls.begin(Call(2, "", {}, None))
    await settle()
    by_id = {message["id"]: message["response"] for message in sent}
    assert by_id[2] == {"output": "fine"}
    assert by_id[1]["error"].startswith(f"[internal] lobu-provider failed: {name}")
    assert by_id[1]["metadata"]["error"]["class"] == "infrastructure"
    assert by_id[1]["metadata"]["rateLimitKind"] == "quota"
