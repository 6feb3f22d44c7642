"""Fixtures: the command line in this process and as a process, and a gateway on a socket."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner

from lobu_provider.cli.main import cli
from lobu_provider.scripted_gateway import Script, ScriptedGateway, parse_script
from lobu_provider.scripted_gateway.replies import Reply, Stream
from lobu_provider.scripted_gateway.server import running

CANARY = "canary-0123456789abcdef"
"""A token without the shape of one: only who knows its value can hide it."""
AGENT = "support-agent"
LIMIT_S = 30
"""A net under waits that end at once when all is well."""


@dataclass(frozen=True)
class Served:
    """A scripted gateway that is served on a socket."""

    url: str
    gateway: WatchedGateway

    def wait_for_message(self) -> None:
        """Wait until a message was taken."""
        assert self.gateway.took_message.wait(LIMIT_S)


class WatchedGateway(ScriptedGateway):
    """Tells when a message was taken."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.took_message = threading.Event()

    async def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Reply | Stream:
        reply = await super().handle(method, path, headers, body)
        if path.endswith("/messages"):
            self.took_message.set()
        return reply


@dataclass(frozen=True)
class Ran:
    """What a command in this process did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


RunCli = Callable[..., Ran]
StartCli = Callable[..., "Process"]
Serve = Callable[..., Served]


class Process:
    """A started command; its output is read in the background, so that it never blocks."""

    def __init__(self, arguments: tuple[str, ...], folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lobu_provider", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdout = Lines(self.process.stdout)
        self.stderr = Lines(self.process.stderr)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        code = self.process.wait(LIMIT_S)
        self.stdout.join()
        self.stderr.join()
        return code


class Lines:
    """The lines that a process has written so far."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            for line in self._pipe:
                with self._changed:
                    self._lines.append(line)
                    self._changed.notify_all()

    @property
    def text(self) -> str:
        return "".join(self._lines)

    def wait_for(self, words: str) -> str:
        """Return the first line that holds ``words``, waiting for it."""

        def found() -> str | None:
            return next((line for line in self._lines if words in line), None)

        with self._changed:
            assert self._changed.wait_for(lambda: found() is not None, LIMIT_S), self.text
        return (found() or "").rstrip("\n")

    def join(self) -> None:
        self._thread.join(LIMIT_S)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with promptfoo's own variables unset."""
    for name in list(os.environ):
        if name.startswith("PROMPTFOO_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_in_process(*arguments: str, **options: Any) -> Ran:
    """Run a command in this process; only ``SystemExit`` may come out."""
    # click below 8.2 mixes the two streams unless told not to.
    mixes = "mix_stderr" in signature(CliRunner).parameters
    apart: Any = {"mix_stderr": False} if mixes else {}
    runner = CliRunner(**apart)
    result = runner.invoke(cli, list(arguments), prog_name="lobu-provider", **options)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def run_cli() -> RunCli:
    """Return a function that runs a command in this process."""
    return run_in_process


@pytest.fixture
def start_cli(folder: Path) -> Iterator[StartCli]:
    """Return a function that starts a command as a process; all are ended after the test."""
    started: list[Process] = []

    def start(*arguments: str) -> Process:
        started.append(Process(arguments, folder))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.end()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves a script on a free port."""
    with ExitStack() as stack:

        def start(**script: Any) -> Served:
            gateway = WatchedGateway(parse_script({"version": 1, "replies": [], **script}))
            return Served(stack.enter_context(running(gateway)), gateway)

        yield start


@pytest.fixture
def connected(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Served]:
    """Return a function that serves a script and sets the three variables for it."""

    def start(**script: Any) -> Served:
        served = serve(**script)
        monkeypatch.setenv("LOBU_GATEWAY", served.url)
        monkeypatch.setenv("LOBU_AGENT", AGENT)
        monkeypatch.setenv("LOBU_TOKEN", CANARY)
        return served

    return start
