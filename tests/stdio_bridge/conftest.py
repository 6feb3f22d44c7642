"""A bridge as a real process, and a gateway on a socket that tells what it got."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.replies import Reply, Stream
from lobu_provider.scripted_gateway.script import Script, parse_script
from lobu_provider.scripted_gateway.server import running

LIMIT_S = 30
"""A net under waits that end at once when all is well."""

REAL = (sys.executable, "-m", "lobu_provider.stdio_bridge")
FAKE = (sys.executable, str(Path(__file__).with_name("fake_bridge.py")))


class Bridge:
    """A started bridge; what it writes is read in threads, so that it never blocks unless asked."""

    def __init__(self, command: tuple[str, ...], *, read: bool = True) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LOBU_TOKEN": "owl_pat_canary"},
        )
        self.stderr = b""
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._threads = [
            threading.Thread(target=self._read_errors, daemon=True),
            threading.Thread(target=self._read_lines, daemon=True),
        ]
        self._threads[0].start()
        if read:
            self.read()

    def read(self) -> None:
        """Begin to read its answers."""
        self._threads[1].start()

    def _read_lines(self) -> None:
        for line in _pipe(self.process.stdout):
            self._lines.put(line)
        self._lines.put(b"")

    def _read_errors(self) -> None:
        self.stderr = _pipe(self.process.stderr).read()

    def raw(self, data: bytes) -> None:
        """Write bytes to its stdin."""
        stdin = _pipe(self.process.stdin)
        stdin.write(data)
        stdin.flush()

    def send(self, **message: Any) -> None:
        """Write one message."""
        self.raw(json.dumps(message).encode() + b"\n")

    def call(
        self,
        call_id: int | str,
        prompt: str,
        options: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a call."""
        self.send(
            type="call", id=call_id, options=dict(options or {}), prompt=prompt, context=context
        )

    def next(self) -> dict[str, Any]:
        """Return the next message that it wrote."""
        line = self._lines.get(timeout=LIMIT_S)
        while line == b"\n":
            line = self._lines.get(timeout=LIMIT_S)
        assert line, f"the bridge ended: {self.stderr!r}"
        assert line.isascii()
        message: dict[str, Any] = json.loads(line)
        return message

    def responses(self, count: int) -> dict[int | str, dict[str, Any]]:
        """Return the next ``count`` results by their ids."""
        found: dict[int | str, dict[str, Any]] = {}
        for _ in range(count):
            message = self.next()
            while message["type"] in ("alive", "ending"):  # alive it says every few seconds
                message = self.next()
            assert message["type"] == "result"
            found[message["id"]] = message["response"]
        return found

    def rest(self) -> list[bytes]:
        """Return what is left to read of a bridge that has ended."""
        return list(iter(lambda: self._lines.get(timeout=LIMIT_S), b""))

    def close_stdin(self) -> None:
        """Go away as a client."""
        _pipe(self.process.stdin).close()

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        code = self.process.wait(LIMIT_S)
        self._threads[0].join(LIMIT_S)
        return code

    def end(self) -> None:
        """Kill it if it still runs."""
        self.process.kill()
        self.process.wait()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(LIMIT_S)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                _pipe(pipe).close()
            except BrokenPipeError:
                continue


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


StartBridge = Callable[..., Bridge]


@pytest.fixture
def start_bridge() -> Iterator[StartBridge]:
    """Start bridges; the ``ready`` line is read already."""
    with ExitStack() as stack:

        def start(command: tuple[str, ...] = FAKE, *, read: bool = True) -> Bridge:
            bridge = Bridge(command, read=read)
            stack.callback(bridge.end)
            if read:
                assert bridge.next()["type"] == "ready"
            return bridge

        yield start


class WatchedGateway(ScriptedGateway):
    """Tells another thread when so many messages were taken."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.took_message = threading.Semaphore(0)

    async def handle(self, *args: Any, **kwargs: Any) -> Reply | Stream:
        reply = await super().handle(*args, **kwargs)
        if self.requests[-1].path.endswith("/messages"):
            self.took_message.release()
        return reply

    def wait_for_message(self) -> None:
        assert self.took_message.acquire(timeout=LIMIT_S)

    def options(self, url: str, **config: Any) -> dict[str, Any]:
        return {"config": {"agent": "support-agent", "gateway": url, **config}}


@pytest.fixture
def gateway() -> Iterator[tuple[WatchedGateway, str]]:
    """A gateway on a socket: repeats what it hears, or takes a minute over it."""
    script = parse_script(
        {
            "version": 1,
            "replies": [
                {"match": "slow", "steps": [{"text": "so far"}, {"delay_ms": 60_000}]},
                {"steps": [{"text": "heard: {{message}}"}]},
            ],
        }
    )
    gateway = WatchedGateway(script)
    with running(gateway) as url:
        yield gateway, url
