"""As in tests/wire: over httpx and over aiohttp, and without waits between tries.

Each call is recorded as well, and then replayed without the gateway: to the same row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lobu_provider.conversation
import lobu_provider.event_stream
import lobu_provider.gateway_requests
from tests.cassettes.replayed_too import ReplayedToo
from tests.wire import wire_answers
from tests.wire.conftest import library, no_waits, pytest_generate_tests

__all__ = ["library", "no_waits", "pytest_generate_tests"]


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for in vain in these tests is not waited for long."""
    monkeypatch.setattr(lobu_provider.event_stream, "FIRST_BYTE_S", 0.2)
    monkeypatch.setattr(lobu_provider.gateway_requests, "REFUSAL_S", 0.05)
    monkeypatch.setattr(lobu_provider.conversation, "ERROR_GRACE_S", 0.2)
    monkeypatch.setattr(lobu_provider.conversation, "NOTICE_GRACE_S", 0.2)


@pytest.fixture(autouse=True)
def recorded(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Record every call, and replay it at once. Over one library: the tape runs above it."""
    if request.node.get_closest_marker("not_recorded") or "aiohttp" in request.node.name:
        yield
        return
    replayed = ReplayedToo(tmp_path / "cassettes", monkeypatch)
    monkeypatch.setattr(wire_answers, "replay_too", replayed)
    yield
