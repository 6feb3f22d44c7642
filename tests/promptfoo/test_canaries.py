"""Secrets that are sent to a gateway which repeats them wherever it can: none leaves the call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lobu_provider import LobuProvider
from lobu_provider.errors import failure
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.response import MAX_MESSAGE, build_response
from lobu_provider.turn import Turn
from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    answers,
    call,
    complete,
    created,
    echo_request,
    event,
    failed,
    json_reply,
    output,
    stream,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, TOKEN, WireGateway

pytestmark = pytest.mark.anyio

HEADER = "canary-of-the-proxy-51b7e2"
SHARED = {"headers": {"X-Api-Key": HEADER}}
ECHO = f"<{TOKEN}|{SESSION_TOKEN}|{HEADER}>"


def is_clean(row: dict[str, Any]) -> bool:
    return "canary" not in json.dumps(row) and "***" in json.dumps(row)


EVERYWHERE = [
    event("tool_use", name=ECHO, toolCallId=ECHO, input={ECHO: [ECHO]}, messageId="m-1",
          result_summary={"snippets": [{"id": ECHO, "text": ECHO}], ECHO: ECHO}, isError=ECHO),
    event("tool_use", name="search_memory", toolCallId="c-2", messageId="m-1",
          result_summary={"snippets": [{"id": 1, "text": ECHO}]}),
    event("question", question=ECHO, options=[ECHO], turnMessageId="m-1", **{ECHO: ECHO}),
    event("suggestion", prompts=[{"title": ECHO}], turnMessageId="m-1"),
    event(f"novel-{ECHO}", **{ECHO: {"deep": [ECHO]}}, messageId="m-1"),
    output(ECHO[:9]),
    output(ECHO[9:]),
]  # fmt: skip


@pytest.mark.parametrize("limit_kb", [1, 256])
async def test_what_a_gateway_repeats_in_a_good_turn_is_masked(limit_kb: int) -> None:
    end = complete(finalText=f"The answer is {ECHO}", suggestions=[ECHO], note=ECHO)
    events = stream(CONNECTED, AfterMessage(1), *EVERYWHERE, end)
    async with WireGateway(answers(events=events)) as gateway:
        row = await call(gateway.url, f"hello {ECHO}", maxMetadataKb=limit_kb, **SHARED)
    assert "error" not in row
    assert is_clean(row)
    assert row["output"] == "The answer is <***|***|***>"


@pytest.mark.parametrize("retries", [0, 1])
async def test_what_a_gateway_repeats_in_an_error_is_masked(
    retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lobu_provider.promptfoo.attempts.pause_s", lambda attempt: 0.0)
    crash = f"The worker handling your request stopped unexpectedly before it could reply. {ECHO}"
    events = [
        stream(CONNECTED, AfterMessage(number), *EVERYWHERE, failed(crash, f"m-{number}"))
        for number in (1, 2)
    ]
    async with WireGateway(answers(events=events)) as gateway:
        row = await call(gateway.url, "hello", retries=retries, **SHARED)
    assert row["error"].startswith("[worker]")
    assert len(row["metadata"].get("attempts", [])) == retries
    assert is_clean(row)


async def test_ids_that_hold_a_token_are_masked() -> None:
    async def own_id(exchange: Any) -> None:
        body = {"agentId": f"a_{TOKEN}_{SESSION_TOKEN}", "token": SESSION_TOKEN}
        await json_reply(201, body)(exchange)

    async def sent(exchange: Any) -> None:
        trace = f"00-{TOKEN[:16]:0<16}{SESSION_TOKEN[:16]:0<16}-b7ad6b7169203331-01"
        body = {"messageId": ECHO, "jobId": ECHO, "traceparent": trace}
        await json_reply(200, body)(exchange)

    events = stream(CONNECTED, AfterMessage(1), complete(ECHO, finalText="fine"))
    special = answers(create=own_id, message=sent, events=events)
    async with WireGateway(special) as gateway:
        row = await call(gateway.url, "hello", **SHARED)
    assert TOKEN not in json.dumps(row)
    assert SESSION_TOKEN not in json.dumps(row)
    assert "***" in row["metadata"]["gatewaySessionId"]
    assert "***" in row["metadata"]["turns"][0]["messageId"]


@pytest.mark.parametrize("kind", ["create", "events", "message", "delete"])
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 302])
async def test_what_a_gateway_repeats_in_a_refusal_is_masked(kind: str, status: int) -> None:
    known = f"<{TOKEN}|{HEADER}>" if kind == "create" else ECHO  # there is no session yet
    headers = [f"Location: https://me:{TOKEN}@elsewhere/{known}?key={HEADER}"]
    refusal = json_reply(status, {"error": known, "details": known}, *headers)
    async with WireGateway(answers(**{kind: refusal})) as gateway:
        row = await call(gateway.url, "hello", **SHARED)
    assert "canary" not in json.dumps(row)
    already_gone = kind == "delete" and status in (403, 404)
    assert already_gone or row.get("error") or row["metadata"]["warnings"]


@pytest.mark.parametrize("kind", ["create", "message"])
async def test_an_error_page_that_shows_the_request_is_masked(kind: str) -> None:
    async with WireGateway(answers(**{kind: echo_request})) as gateway:
        row = await call(gateway.url, "hello", **SHARED)
    assert row["error"].startswith("[gateway]")
    assert is_clean(row)


async def test_nothing_secret_is_printed_logged_or_part_of_an_id(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with WireGateway(answers(create=created)) as gateway:
        row = await call(gateway.url, "hello", **SHARED)
    assert "error" not in row
    printed = "".join(capfd.readouterr()) + caplog.text
    assert "canary" not in printed
    assert SESSION_ID in row["metadata"]["gatewaySessionId"]
    config = {"agent": "a", "token": TOKEN, **SHARED}
    assert "canary" not in LobuProvider({"config": config}).id()
    assert "canary" not in repr(LobuProvider({"config": config}))


@pytest.mark.parametrize(
    "gateway",
    [
        "http://me:canary-c04d55@127.0.0.1:9",
        "http://127.0.0.1:9/lobu?token=canary-c04d55",
        "http://127.0.0.1:9/lobu#canary-c04d55",
        "ftp://127.0.0.1/?key=canary-c04d55",
        "http://127.0.0.1:x/?key=canary-c04d55",
        "127.0.0.1:9?key=canary-c04d55",
    ],
)
async def test_a_secret_in_the_gateways_address_is_not_repeated(gateway: str) -> None:
    config = {"agent": "a", "gateway": gateway}
    row = await LobuProvider({"config": config, "env": {"LOBU_TOKEN": TOKEN}}).call_api("hello")
    assert row["error"].startswith(("[config]", "[gateway]"))
    assert "canary" not in json.dumps(row)


async def test_a_token_in_the_config_is_warned_of_once_in_each_row_and_masked() -> None:
    events = stream(CONNECTED, AfterMessage(1), complete(finalText=f"It is {TOKEN}."))
    async with WireGateway(answers(events=events)) as gateway:
        options = {"config": {"agent": "a", "gateway": gateway.url, "token": TOKEN}}
        row = await LobuProvider(options).call_api("hello")
    assert row["output"] == "It is ***."
    found = [w for w in row["metadata"]["warnings"] if w.startswith("config.token")]
    assert len(found) == 1
    assert "canary" not in json.dumps(row)


@pytest.mark.parametrize("length", [MAX_MESSAGE, MAX_MESSAGE * 10, 1_000_000])
@pytest.mark.parametrize("before", range(0, 26, 5))
def test_a_text_that_is_cut_shows_no_half_of_a_secret(length: int, before: int) -> None:
    text = "." * before + TOKEN * (length // len(TOKEN) + 2)
    record = CallRecord(
        turns=[Turn("q")],
        failure=failure("gateway", text, phase="turn"),
        warnings=[text],
        secrets=[TOKEN],
        private=["production"],
    )
    response = build_response(record)
    for told in (response["error"], response["metadata"]["warnings"][0]):
        assert not any(TOKEN[:size] in told for size in range(6, len(TOKEN) + 1))
