"""As in tests/wire: over httpx and over aiohttp, and without waits between tries."""

from __future__ import annotations

import pytest

import lobu_provider.conversation
import lobu_provider.event_stream
from tests.wire.conftest import library, no_waits, pytest_generate_tests

__all__ = ["library", "no_waits", "pytest_generate_tests"]


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for in vain in these tests is not waited for long."""
    monkeypatch.setattr(lobu_provider.event_stream, "FIRST_BYTE_S", 0.2)
    monkeypatch.setattr(lobu_provider.conversation, "ERROR_GRACE_S", 0.2)
    monkeypatch.setattr(lobu_provider.conversation, "NOTICE_GRACE_S", 0.2)
