"""Every test here runs twice: over httpx, and over a pool of aiohttp."""

from __future__ import annotations

import pytest

from lobu_provider.http_over_aiohttp import AiohttpPool
from tests.wire import wire_answers


@pytest.fixture(params=["httpx", "aiohttp"], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose what :func:`wire_answers.call` sends its requests with."""
    if request.param == "aiohttp":
        monkeypatch.setattr(wire_answers, "open_pool", AiohttpPool)
