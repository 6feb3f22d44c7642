"""The tests of whole calls run twice, but for some: over httpx, and over a pool of aiohttp."""

from __future__ import annotations

import pytest

from lobu_provider import outage, repeating
from lobu_provider.http_over_aiohttp import AiohttpPool
from tests.wire import wire_answers

ABOVE_THE_LIBRARY = {
    "test_wire_cuts",
    "test_wire_log_size",
    "test_wire_parser",
    "test_wire_parser_properties",
    "test_interleavings",
}
"""Modules about what becomes of the bytes, whatever brings them."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test over both libraries, or over one where either would do."""
    one_is_enough = metafunc.module.__name__.rpartition(".")[2] in ABOVE_THE_LIBRARY
    libraries = ["httpx"] if one_is_enough else ["httpx", "aiohttp"]
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
