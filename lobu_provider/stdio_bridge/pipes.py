"""The pipes under the protocol: private file descriptors, a thread that reads, one that writes.

Threads with blocking calls, because an event loop cannot wait for every kind of stdin on every
platform. Both directions are bounded: the reader stops while the calls it has delivered hold
:data:`ROOM_BYTES`, and :meth:`Writer.send` returns when the line is in the pipe.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from lobu_provider.stdio_bridge.protocol import LineSplitter

ROOM_BYTES: Final = 256 * 1024 * 1024
"""How much the calls that are not answered yet may hold, in bytes of their lines."""

_CHUNK_BYTES: Final = 1024 * 1024
_LOOK_S: Final = 0.5
"""How often a reader that waits for room looks whether the client is still there."""


def take_over_stdio() -> tuple[int, int]:
    """Return private duplicates of stdin and stdout, and put others in their place.

    From now on what anybody reads from stdin is empty and what anybody prints goes to stderr, also
    what a library in C or a child process prints.
    """
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    return reading, writing


class Room:
    """How much more the reader may deliver; shared between its thread and the event loop."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._changed = threading.Condition()

    def take(self, size: int) -> None:
        """Take ``size`` of it, more than there is if need be."""
        with self._changed:
            self._free -= size

    def give(self, size: int) -> None:
        """Give it back."""
        with self._changed:
            self._free += size
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> bool:
        """Wait until there is some; whether there is."""
        with self._changed:
            return self._changed.wait_for(lambda: self._free > 0, timeout_s)


class Reader:
    """Reads lines in a thread and delivers them on the event loop.

    Args:
        source: the file descriptor.
        room: what the lines that were delivered take from; whoever gets a line gives it back.
        on_line: called on the loop with each line.
        on_end: called on the loop once when the client is gone.
    """

    def __init__(
        self,
        source: int,
        room: Room,
        on_line: Callable[[bytes], object],
        on_end: Callable[[], object],
    ) -> None:
        self._source = source
        self._room = room
        self._on_line = on_line
        self._on_end = on_end
        self._client = os.getppid()
        self._loop = asyncio.get_running_loop()

    def start(self) -> None:
        """Start the thread; the process may end without waiting for it."""
        threading.Thread(target=self._read, name="bridge-reader", daemon=True).start()

    def _read(self) -> None:
        splitter = LineSplitter()
        try:
            while chunk := os.read(self._source, _CHUNK_BYTES):
                for line in splitter.feed(chunk):
                    self._deliver(line)
        except (OSError, _ClientGoneError):
            pass  # a broken pipe is an end like any other
        self._loop.call_soon_threadsafe(self._on_end)

    def _deliver(self, line: bytes) -> None:
        while not self._room.wait(_LOOK_S):
            if os.getppid() != self._client:
                raise _ClientGoneError
        self._room.take(len(line))
        self._loop.call_soon_threadsafe(self._on_line, line)


class _ClientGoneError(Exception):
    """Nobody is left at the other end."""


class Writer:
    """Writes lines whole and one after the other.

    Args:
        target: the file descriptor.
        on_gone: called on the loop when nobody reads any more.
    """

    def __init__(self, target: int, on_gone: Callable[[], object]) -> None:
        self._target = target
        self._on_gone = on_gone
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bridge-writer")

    async def send(self, line: bytes) -> None:
        """Write a line; returns when all of it is in the pipe."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, line)
        except OSError:
            self._on_gone()

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._target, rest) :]
