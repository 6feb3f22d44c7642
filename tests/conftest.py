"""What every test needs: asyncio as the loop, and an environment that says nothing."""

from __future__ import annotations

import os
import signal
import socket

import anyio
import pytest

_PREFIX = "LOBU_"
_VARIABLES = ("CI", "REQUEST_TIMEOUT_MS")
_PROXIES = ("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(_PREFIX) or name in _VARIABLES or name.upper() in _PROXIES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOBU_LEDGER_DIR", "off")  # nothing of the tests gets into the user's cache


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long our code and the tests would have slept; nobody does."""
    waited: list[float] = []

    async def nap(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(anyio, "sleep", nap)
    return waited


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def pytest_configure() -> None:
    """Undo what nohup and background jobs leave to us: our programs would ignore these signals."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
