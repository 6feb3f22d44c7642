"""The reader and its room: a client can be held back, and none that is gone is waited for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import anyio
import pytest

from lobu_provider.stdio_bridge.pipes import Reader, Room

pytestmark = pytest.mark.anyio


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_a_reader_without_room_waits_until_some_is_given_back(pipe: tuple[int, int]) -> None:
    send, receive = anyio.create_memory_object_stream[bytes](10)
    ended = anyio.Event()
    room = Room(10)
    with send, receive, anyio.fail_after(10):
        Reader(pipe[0], room, send.send_nowait, ended.set).start()
        os.write(pipe[1], b"a line of twenty-one.\nthe next\n")
        assert await receive.receive() == b"a line of twenty-one."
        assert not room.wait(0)
        with pytest.raises(anyio.WouldBlock):
            receive.receive_nowait()
        room.give(21)
        assert await receive.receive() == b"the next"
        os.close(pipe[1])
        await ended.wait()


async def test_a_reader_that_waits_for_room_sees_that_its_client_is_gone(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = anyio.Event()
    with anyio.fail_after(10):
        reader = Reader(pipe[0], Room(0), lambda line: None, ended.set)
        monkeypatch.setattr("os.getppid", lambda: -1)
        reader.start()
        os.write(pipe[1], b"a line\n")
        await ended.wait()
    os.close(pipe[1])
