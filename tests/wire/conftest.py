"""The tests of whole calls run twice: over httpx, and over a pool of aiohttp."""

from __future__ import annotations

import pytest

from lobu_provider import outage, repeating
from lobu_provider.http_over_aiohttp import AiohttpPool
from tests.wire import wire_answers

BYTES_ALONE = {"test_wire_cuts", "test_wire_parser", "test_wire_parser_properties"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cuts and parsing are the same whatever brings the bytes."""
    about_bytes = metafunc.module.__name__.rpartition(".")[2] in BYTES_ALONE
    libraries = ["httpx"] if about_bytes else ["httpx", "aiohttp"]
    metafunc.parametrize("library", libraries, indirect=True)


@pytest.fixture(autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose what :func:`wire_answers.call` sends its requests with."""
    if request.param == "aiohttp":
        monkeypatch.setattr(wire_answers, "open_pool", AiohttpPool)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat requests and open streams again as often as ever, but at once."""
    monkeypatch.setattr(repeating, "WAITS_S", (0.0, 0.0))
    monkeypatch.setattr(outage, "WAITS_S", (0.0,) * len(outage.WAITS_S))
    monkeypatch.setattr(outage, "FIRST_WAITS_S", (0.0, 0.0))
