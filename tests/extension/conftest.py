"""Fixtures: a folder for ledgers, runs that have ended, a gateway on a socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import ledger
from lobu_provider.extension import hooks, preflight
from lobu_provider.http_exchange import RequestLimits
from lobu_provider.process_mark import ProcessMark, this_machine
from lobu_provider.scripted_gateway import ScriptedGateway, parse_script
from lobu_provider.scripted_gateway.server import running

TOKEN = "owl_pat_canary_0123456789abcdef"
AGENT = "support-agent"
GONE = ProcessMark(this_machine(), 2**22 + 1, "1")
"""No process has such a number: it is above what Linux gives."""


@dataclass(frozen=True)
class Served:
    """A scripted gateway that is served on a socket."""

    address: str
    gateway: ScriptedGateway

    @property
    def url(self) -> str:
        """The base URL, as settings and ledgers have it."""
        return f"{self.address}/lobu"

    @property
    def threads(self) -> list[str]:
        """The threads whose sessions are there."""
        return sorted(session_id.rpartition("_")[2] for session_id in self.gateway.sessions)

    def asked(self, method: str) -> int:
        """How many requests of a method came."""
        return sum(request.method == method for request in self.gateway.requests)

    def provider(self, **config: Any) -> dict[str, Any]:
        """A provider as promptfoo shows it to a Python hook."""
        return python_provider(agent=AGENT, gateway=self.address, **config)


def python_provider(**config: Any) -> dict[str, Any]:
    options = {"id": "file://lobu_hook.py", "config": {"basePath": "", **config}, "env": {}}
    return {"scriptPath": "some/lobu_hook.py", "label": "", "config": config, "options": options}


def suite_of(*providers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"prompts": [{"raw": "{{query}}"}], "providers": list(providers), "tests": [], **more}


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that serves a script on a free port."""
    with ExitStack() as stack:

        def start(**script: Any) -> Served:
            given = {"version": 1, "replies": [], "token": TOKEN, "agents": [AGENT], **script}
            gateway = ScriptedGateway(parse_script(given))
            return Served(stack.enter_context(running(gateway)), gateway)

        yield start


@pytest.fixture(autouse=True)
def ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep ledgers in a folder of the test."""
    folder = tmp_path / "ledgers"
    monkeypatch.setenv("LOBU_LEDGER_DIR", str(folder))
    monkeypatch.delenv("PROMPTFOO_DISABLE_VAR_EXPANSION", raising=False)
    return folder


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the token that the gateway takes."""
    monkeypatch.setenv("LOBU_TOKEN", TOKEN)
    return TOKEN


@pytest.fixture
def told() -> list[str]:
    """What a hook has told; its ``append`` is the function to give it."""
    return []


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a slow machine take its time before a run, so that nothing is told of that."""
    monkeypatch.setattr(hooks, "BEFORE_S", 30.0)
    monkeypatch.setattr(preflight, "LIMITS", RequestLimits(repeats=0))


@pytest.fixture
def end_of_run(ledgers: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes all runs noted so far those of a promptfoo that has ended."""
    monkeypatch.setattr(ledger, "host_mark", lambda: GONE)

    def end() -> None:
        for path in ledgers.iterdir():
            age(path, ledger.QUIET_S + 1)

    return end


def age(path: Path, seconds: float) -> None:
    """Make a file that much older."""
    before = path.stat().st_mtime - seconds
    os.utime(path, (before, before))
