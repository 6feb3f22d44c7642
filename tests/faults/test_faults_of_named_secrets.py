"""What a gateway names as a secret is in no row and no log, however it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.fault_rows import Row, heard, held
from tests.wire.wire_answers import complete, event, json_reply, output, raw
from tests.wire.wire_gateway import Answer, Exchange

pytestmark = pytest.mark.anyio

UNKNOWN = "plain-words-7"
"""A secret of the gateway that nobody told us of."""

SAYINGS: list[Any] = [
    f"bad {{'token': '{UNKNOWN}'}}",
    f"bad {{ token: '{UNKNOWN}' }}",
    f"see http://x/cb#token={UNKNOWN}",
    f"see http://x/cb#a=1&access_token={UNKNOWN}",
    {"tokens": [UNKNOWN]},
    {"token": {"value": UNKNOWN}, "note": f"of {UNKNOWN}"},
    json.dumps({"apiKey": [{"a": UNKNOWN}], "note": f"of {UNKNOWN}"}),
]


def refused(body: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(500, body.encode(), "text/plain")

    return answer


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOBU_WIRE_LOG", str(tmp_path / "wire.jsonl"))
    return tmp_path / "wire.jsonl"


def everything(row: Row, log: Path) -> str:
    """What the call left behind."""
    return json.dumps(row.response) + log.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["create", "events", "message"])
@pytest.mark.parametrize("said", SAYINGS)
async def test_a_refusal_shows_nothing_that_has_the_name_of_a_secret(
    log: Path, kind: str, said: Any
) -> None:
    for body in (json.dumps({"error": said}), said if isinstance(said, str) else repr(said)):
        special: dict[str, Any] = {kind: refused(body)}
        row = await held(**special)
        assert row.error is not None
        assert "***" in row.error
        assert UNKNOWN not in everything(row, log)


async def test_a_refusal_does_not_quote_what_the_rest_of_it_names_as_a_secret(log: Path) -> None:
    body = {"error": f"bad {UNKNOWN}", "token": {"value": UNKNOWN}}
    row = await held(message=json_reply(500, body))
    assert "bad ***" in (row.error or "")
    assert UNKNOWN not in everything(row, log)


@pytest.mark.not_recorded  # a cassette keeps what an event says, so that its row can be made again
@pytest.mark.parametrize("said", SAYINGS)
async def test_an_error_of_a_turn_shows_nothing_that_has_the_name_of_a_secret(
    log: Path, said: Any
) -> None:
    row = await heard(event("error", error=said, messageId="m-1"), complete())
    assert "***" in (row.error or "")
    assert UNKNOWN not in everything(row, log)


@pytest.mark.not_recorded
@pytest.mark.parametrize("name", ["complete", "something-new"])
async def test_an_event_that_means_nothing_shows_nothing_that_has_the_name_of_a_secret(
    log: Path, name: str
) -> None:
    odd = event(name, finalText=5, messageId="m-1", token={"value": UNKNOWN}, tokens=[UNKNOWN, 7])
    raw = f"event: {name}\ndata: {{'token': '{UNKNOWN}'}}\n\n".encode()
    row = await heard(odd + raw + complete(finalText="fine"))
    assert '"tokens": ["***", 7]' in json.dumps(row.turns)
    assert UNKNOWN not in everything(row, log)


@pytest.mark.not_recorded
async def test_an_answer_keeps_what_only_looks_like_a_secret() -> None:
    answer = f"Use {{'token': '{UNKNOWN}'}} or #token={UNKNOWN}; it took 512 tokens."
    row = await heard(output(answer), complete(finalText=answer))
    row.passed(answer)


@pytest.mark.not_recorded
async def test_an_unknown_event_with_millions_of_values_is_not_searched_value_by_value() -> None:
    named = [{"token": f"Sx{number:03d}-secret/%value"} for number in range(100)]
    many = event("something-new", messageId="m-1", t=named, b=["x"] * 1_000_000)
    long = event("something-new", messageId="m-1", t=named, b="x" * 300_000 + "Sx001-secret/%value")
    for odd in (many, long):  # the first took minutes
        row = await heard(odd + complete(finalText="fine"))
        row.passed("fine")
        assert "turns[].otherEvents" in json.dumps(row.response["metadata"]["truncated"])
        assert "-secret/" not in json.dumps(row.response)


@pytest.mark.parametrize("line", ["chunk", "header"])
async def test_a_reply_that_breaks_http_is_told_without_its_bytes(log: Path, line: str) -> None:
    body = json.dumps({"success": True, "token": UNKNOWN}).encode()
    if line == "chunk":  # its length ends within the secret
        cut = body.index(UNKNOWN.encode()) + 2
        head = b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
        broken = head + b"%x\r\n" % cut + body[:cut] + b"\r\n" + body[cut:] + b"\r\n"
    else:
        broken = b"HTTP/1.1 201 Created\r\nX-Session: " + UNKNOWN.encode() + b"\x00\r\n\r\n"
    row = await held(create=raw(broken))
    assert row.error is not None
    assert "POST" in row.error
    assert UNKNOWN[2:] not in everything(row, log)
