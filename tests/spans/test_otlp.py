"""Spans over a socket, to receivers of every kind."""

from __future__ import annotations

import json
import socket

import pytest

from lobu_provider.spans.model import Span
from lobu_provider.spans.otlp import deliver, encode
from tests.spans.conftest import Receiver

pytestmark = pytest.mark.anyio

TRACE = "a" * 32
NO_ADDRESS = "http://999.1.1.1:4318/v1/traces"
"""urlsplit takes it, httpx does not."""
SPAN = Span(
    span_id="1" * 16,
    parent_id="2" * 16,
    name="execute_tool ü",
    kind="internal",
    start_ns=1_790_000_000_123_456_789,
    end_ns=1_790_000_001_000_000_000,
    attributes={"text": "ü", "number": 7, "flag": True},
    error="no",
)
BODY = encode([SPAN], TRACE)


def test_ids_are_hexadecimal_and_times_are_strings() -> None:
    (resource,) = json.loads(BODY)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    assert scope["spans"] == [
        {
            "traceId": TRACE,
            "spanId": "1" * 16,
            "parentSpanId": "2" * 16,
            "name": "execute_tool ü",
            "kind": 1,
            "startTimeUnixNano": "1790000000123456789",
            "endTimeUnixNano": "1790000001000000000",
            "attributes": [
                {"key": "text", "value": {"stringValue": "ü"}},
                {"key": "number", "value": {"intValue": "7"}},
                {"key": "flag", "value": {"boolValue": True}},
            ],
            "status": {"code": 2, "message": "no"},
        }
    ]


@pytest.mark.parametrize("to_promptfoo", [True, False])
async def test_a_receiver_takes_them(receiver: Receiver, to_promptfoo: bool) -> None:
    assert await deliver(BODY, receiver.url, to_promptfoo=to_promptfoo, limit_s=10) is None
    assert receiver.bodies == [json.loads(BODY)]


@pytest.mark.parametrize("status", [302, 400, 415, 429, 500])
async def test_any_other_answer_is_a_failure_that_names_it(receiver: Receiver, status: int) -> None:
    receiver.status = status
    lost = await deliver(BODY, receiver.url, to_promptfoo=False, limit_s=10)
    assert lost is not None
    assert (lost.code, lost.error_class) == ("config", "config")
    assert f"HTTP {status}" in lost.message
    assert receiver.url in lost.message


async def test_rejected_spans_are_a_failure(receiver: Receiver) -> None:
    receiver.answer = {"partialSuccess": {"rejectedSpans": "1"}}
    lost = await deliver(BODY, receiver.url, to_promptfoo=False, limit_s=10)
    assert lost is not None
    assert "1 of them were rejected" in lost.message


@pytest.mark.parametrize("answer", [None, [], "fine", {"partialSuccess": None}])
async def test_what_a_receiver_says_beside_its_status_need_not_be_otlp(
    receiver: Receiver, answer: object
) -> None:
    receiver.answer = answer
    assert await deliver(BODY, receiver.url, to_promptfoo=False, limit_s=10) is None


async def test_another_program_on_the_port_is_no_delivery_where_promptfoo_has_to_see_them(
    receiver: Receiver,
) -> None:
    receiver.service = "collector"
    lost = await deliver(BODY, receiver.url, to_promptfoo=True, limit_s=10)
    assert lost is not None
    assert "not promptfoo's receiver" in lost.message
    assert receiver.bodies == []


async def test_nobody_there_is_a_failure_that_says_how_to_switch_the_receiver_on() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1/traces"
        lost = await deliver(BODY, url, to_promptfoo=True, limit_s=10)
    assert lost is not None
    assert lost.code == "config"
    assert "otlp: {http: {enabled: true" in lost.message


@pytest.mark.parametrize("url", [NO_ADDRESS, "http://a b/v1/traces", "http://h:port/", ""])
async def test_an_address_that_is_none_is_a_failure_that_names_it(url: str) -> None:
    lost = await deliver(BODY, url, to_promptfoo=True, limit_s=10)
    assert lost is not None
    assert (lost.code, lost.error_class) == ("config", "config")
    assert url in lost.message


async def test_a_receiver_that_is_silent_is_left_when_the_time_is_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        lost = await deliver(BODY, url, to_promptfoo=False)
    assert lost is not None
    assert (lost.code, lost.error_class) == ("timeout", "infrastructure")
    assert "within 300 ms" in lost.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_no_proxy_stands_before_this_machine(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    url = receiver.url.replace("127.0.0.1", host)
    assert await deliver(BODY, url, to_promptfoo=True, limit_s=10) is None


async def test_a_proxy_of_the_environment_is_used_for_other_machines(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", receiver.url.removesuffix("/v1/traces"))
    url = "http://collector.example/v1/traces"
    assert await deliver(BODY, url, to_promptfoo=False, limit_s=10) is None
    assert receiver.bodies == [json.loads(BODY)]
