"""Ctrl-C and the like while a hook runs: it ends in order, says nothing, and leaves no session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from lobu_provider import ledger
from lobu_provider.scripted_gateway import ScriptedGateway, parse_script
from lobu_provider.scripted_gateway.server import running
from tests.extension.conftest import AGENT, TOKEN, python_provider, suite_of
from tests.extension.test_hooks import FILE, WRAPPER

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

PATIENT = """
import lobu_provider.extension.hooks as h, lobu_provider.extension.preflight as p
from lobu_provider.http_exchange import RequestLimits
h.BEFORE_S, p.LIMITS = 30.0, RequestLimits(repeats=0)
"""
FOR_NPM = f"{PATIENT}from lobu_provider.extension.__main__ import main; main()"
FOR_PYTHON = WRAPPER.replace("{before}", PATIENT)
DOORS = {"npm": [FOR_NPM], "python": [FOR_PYTHON, str(FILE), "beforeAll"]}


class SlowGateway(ScriptedGateway):
    """Answers the first request when it is told to."""

    def __init__(self) -> None:
        super().__init__(parse_script({"version": 1, "replies": [], "token": TOKEN}))
        self.asked = threading.Event()
        self.go_on = threading.Event()

    async def handle(self, *args: Any, **kwargs: Any) -> Any:
        """Answer late."""
        self.asked.set()
        await anyio.to_thread.run_sync(self.go_on.wait, 30)
        return await super().handle(*args, **kwargs)


@pytest.fixture
def slow() -> Iterator[tuple[SlowGateway, str]]:
    gateway = SlowGateway()
    with running(gateway) as address:
        yield gateway, address
        gateway.go_on.set()


@contextmanager
def checking(door: str, address: str) -> Iterator[subprocess.Popen[str]]:
    """Start the hook before a run."""
    context = {"suite": suite_of(python_provider(agent=AGENT, gateway=address, token=TOKEN))}
    asked = {"hook": "beforeAll", "context": context} if door == "npm" else [context, {}]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", *DOORS[door]], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(asked))
        process.stdin.close()
        process.stdin = None
        yield process


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_hook_that_gets_a_signal_deletes_its_session_and_ends_without_a_word(
    slow: tuple[SlowGateway, str], ledgers: Path, door: str, number: signal.Signals
) -> None:
    gateway, address = slow
    with checking(door, address) as process:
        assert gateway.asked.wait(30)
        process.send_signal(number)
        gateway.go_on.set()
        stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (0, "")
    assert json.loads(stdout)
    assert [request.method for request in gateway.requests] == ["POST", "DELETE"]
    assert not gateway.sessions
    assert list(ledgers.iterdir()) == []


@pytest.mark.parametrize("door", DOORS)
def test_the_second_signal_ends_it_at_once_and_the_next_run_knows_what_it_left(
    slow: tuple[SlowGateway, str], ledgers: Path, door: str
) -> None:
    gateway, address = slow
    with checking(door, address) as process:
        assert gateway.asked.wait(30)
        while process.poll() is None:  # two that come at once are one
            process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (-signal.SIGINT, "")
    (noted,) = ledger.runs()
    assert [session.agent_id for session in noted.sessions] == [AGENT]
