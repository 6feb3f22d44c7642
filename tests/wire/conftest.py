"""Every test here runs twice: over httpx, and over a pool of aiohttp."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lobu_provider.http_over_aiohttp import AiohttpPool
from tests.wire import wire_answers


@pytest.fixture(params=["httpx", "aiohttp"], autouse=True)
async def library(
    request: pytest.FixtureRequest, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """Choose what :func:`wire_answers.call` sends its requests with."""
    if request.param == "httpx":
        yield "httpx"
        return
    async with AiohttpPool() as pool:
        monkeypatch.setattr(wire_answers, "pool", pool)
        yield "aiohttp"
