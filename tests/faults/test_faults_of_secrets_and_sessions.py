"""What a gateway or a proxy says must not give a secret away, nor make a session be forgotten."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lobu_provider import ledger
from tests.faults.fault_rows import INFRA, heard, held
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    complete,
    created,
    event,
    html,
    json_reply,
    output,
    raw,
    stream,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, TOKEN, Answer, Exchange

pytestmark = pytest.mark.anyio


def escaped(text: str) -> str:
    """The same as JSON text, every character as an escape."""
    return "".join(f"\\u{ord(character):04x}" for character in text)


def answered(status: int, body: str, *headers: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(status, body.encode(), "application/json", headers)

    return answer


@pytest.mark.parametrize("secret", [TOKEN, SESSION_TOKEN])
async def test_a_secret_that_is_told_in_escapes_is_not_shown(secret: str) -> None:
    told = answered(400, f'{{"error": "invalid token {escaped(secret)}"}}')
    row = await held(events=told, delete=told)  # the row is searched for both
    row.failed("config", "config", "connect", retryable=False)
    assert row.error is not None
    assert "invalid token ***" in row.error


async def test_a_create_reply_gives_no_token_away_in_the_wire_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    body = (
        f'{{"success": true, "agentId": {json.dumps(SESSION_ID)}, '
        f'"\\u0074oken": "{escaped(SESSION_TOKEN)}", "auth": "{SESSION_TOKEN}", '
        f'"sseUrl": "http://x/?ticket={SESSION_TOKEN}", "note": "see {SESSION_TOKEN}"}}'
    )
    row = await held(create=answered(201, body))
    row.passed("fine")
    text = log.read_text(encoding="utf-8")
    assert SESSION_TOKEN not in text
    assert escaped(SESSION_TOKEN)[:40] not in text


CREATED = json.dumps({"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN})
REFUSED = json.dumps({"success": False, "error": f"{SESSION_TOKEN}?", "token": SESSION_TOKEN})


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (201, CREATED[:-1]),
        (201, CREATED[:-6]),
        (201, f"{CREATED}\n<!-- proxy -->"),
        (201, f"[{CREATED}]"),
        (201, json.dumps({"data": {"agentId": "s-1", "token": SESSION_TOKEN}})),
        (201, REFUSED),
        (500, REFUSED),
    ],
)
async def test_a_create_reply_that_makes_no_session_gives_no_token_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: str
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    row = await held(create=answered(status, body))
    row.failed("gateway", INFRA, "create", retryable=True)
    for text in (json.dumps(row.response), log.read_text(encoding="utf-8")):
        assert SESSION_TOKEN[:20] not in text


@pytest.mark.parametrize(
    ("bytes_sent", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\nContent-Length: 0\r\n\r\n", "gateway"),
        (b"HTTP/1.1 200 OK\r\nBad Header %s\r\n\r\n", "gateway"),
        (b"HTTP/9.9 %s\r\n\r\n", "gateway"),
        (STREAM_HEAD + b"%s\r\n", None),  # each library has its own moment for it
    ],
)
async def test_a_stream_that_never_opens_gives_no_token_away(
    bytes_sent: bytes, code: str | None
) -> None:
    row = await held(events=raw(bytes_sent % SESSION_TOKEN.encode()))  # the row is searched for it
    assert row.error is not None
    assert SESSION_TOKEN[:20] not in row.error
    assert row.metadata["error"]["code"] in ([code] if code else ["gateway", "stream_lost"])


@pytest.mark.not_recorded  # whether the message was sent before the end was heard is a race
@pytest.mark.parametrize("secret", [TOKEN, SESSION_TOKEN])
@pytest.mark.parametrize("at", [AfterMessage(1), b""])
async def test_a_reason_to_close_is_cut_after_its_secrets_are_gone(
    secret: str, at: AfterMessage | bytes
) -> None:
    closed = event("closed", reason="x" * 190 + secret + "y" * 300)
    row = await held(events=stream(CONNECTED, at, closed))
    assert row.error is not None
    assert f"({'x' * 190}***yyyyyyy...)" in row.error


@pytest.mark.not_recorded
async def test_a_question_is_quoted_without_half_a_secret() -> None:
    asked = event("question", question="x" * 190 + SESSION_TOKEN, options=["a"], messageId="m-1")
    row = await heard(asked + complete(finalText="fine"), config={"answers": {"xx": "b"}})
    assert row.warns(f"{'x' * 190}***': the agent offers 'a'")


@pytest.mark.not_recorded
async def test_a_token_in_a_url_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "wire.jsonl"
    monkeypatch.setenv("LOBU_WIRE_LOG", str(log))
    token = "ab12cd:0123:ef56"
    told = f"see http://x/{quote(token)}"
    failed = event("error", error=told, messageId="m-1")
    row = await held(
        create=json_reply(201, {"success": True, "agentId": SESSION_ID, "token": token}),
        events=stream(CONNECTED, AfterMessage(1), output(told) + failed + complete()),
    )
    assert row.output == "see http://x/***"
    for text in (json.dumps(row.response), log.read_text(encoding="utf-8")):
        assert "0123" not in text


async def test_a_token_that_no_header_can_hold_is_told_as_that() -> None:
    body = {"success": True, "agentId": SESSION_ID, "token": "canary-\u00e9-token"}
    row = await held(create=json_reply(201, body))
    assert row.error is not None
    assert "the session's token that the gateway gave" in row.error
    assert "canary" not in json.dumps(row.response)


class Closed:
    """A stderr whose reader has gone."""

    def write(self, text: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    def flush(self) -> None:
        """Nothing is held back."""


@pytest.mark.not_recorded
@pytest.mark.parametrize("stderr", [None, Closed()])
async def test_a_wire_log_that_breaks_where_nobody_can_be_told_costs_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr: Any
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.setenv("LOBU_WIRE_LOG", str(folder / "wire.jsonl"))

    async def create(exchange: Exchange) -> None:
        (folder / "wire.jsonl").unlink()
        folder.rmdir()
        monkeypatch.setattr(sys, "stderr", stderr)
        await created(exchange)

    row = await held(create=create)
    monkeypatch.undo()
    row.passed("fine")
    assert row.count("delete") == 1


async def test_a_wire_log_that_is_a_pipe_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("LOBU_WIRE_LOG", str(tmp_path / "pipe"))
    row = await held()
    row.failed("config", "config", "config", retryable=False)
    assert row.gateway.kinds == []


@pytest.mark.not_recorded
async def test_a_wire_log_that_breaks_costs_neither_row_nor_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.setenv("LOBU_WIRE_LOG", str(folder / "wire.jsonl"))

    async def create(exchange: Exchange) -> None:
        (folder / "wire.jsonl").unlink()
        folder.rmdir()
        await created(exchange)

    row = await held(create=create)
    row.passed("fine")
    assert capsys.readouterr().err.count("LOBU_WIRE_LOG") == 1


async def test_a_proxy_that_cannot_be_used_keeps_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:canary#pw@127.0.0.1:1")
    row = await held(config={"gateway": "http://gateway.invalid"})
    row.failed("config", "config", "config", retryable=False)
    assert row.error is not None
    assert "canary" not in json.dumps(row.response)
    assert "HTTP_PROXY" in row.error


@pytest.mark.parametrize("body", ['{"success": false, "error": "busy"}', '{"success": false}'])
async def test_a_deletion_that_says_it_was_none_is_a_warning(body: str) -> None:
    row = await held(delete=answered(200, body))
    row.passed("fine")
    assert row.warns("left at the gateway")


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written into the ledger."""
    written: list[str] = []

    def created_(run: str, gateway: str, session_id: str, *_: Any, **__: Any) -> None:
        written.append("created" if session_id else "creating")

    monkeypatch.setattr(ledger, "note_created", created_)
    monkeypatch.setattr(ledger, "note_deleted", lambda *_, **__: written.append("gone"))
    return written


async def test_a_refusal_after_an_unanswered_try_does_not_mean_that_there_is_no_session(
    notes: list[str],
) -> None:
    busy = json_reply(429, {"error": "slow down"}, "Retry-After: 60")
    row = await held(create=[raw(b""), busy], evaluation_id="eval-1")
    row.failed("rate_limit", INFRA, "create", retryable=True)
    assert row.warns("may have kept it")
    assert notes == ["creating"]


async def test_a_refusal_at_once_means_that_there_is_no_session(notes: list[str]) -> None:
    row = await held(create=json_reply(403, {"error": "Forbidden"}), evaluation_id="eval-1")
    row.failed("not_found", "config", "create", retryable=False)
    assert row.warnings == []
    assert notes == ["creating", "gone"]


async def test_a_session_is_noted_from_its_creation_to_its_end(notes: list[str]) -> None:
    (await held(evaluation_id="eval-1")).passed("fine")
    assert notes == ["creating", "created", "gone"]
    notes.clear()
    await held(evaluation_id="eval-1", delete=html(500))
    assert notes == ["creating", "created"]


REFUSED_WITH_ID = {"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN, "error": "no"}


@pytest.mark.parametrize("config", [{}, {"keepSession": True}])
async def test_a_session_that_its_reply_names_and_calls_a_failure_is_deleted(
    notes: list[str], config: dict[str, Any]
) -> None:
    row = await held(create=json_reply(201, REFUSED_WITH_ID), evaluation_id="eval-1", config=config)
    row.failed("gateway", INFRA, "create", retryable=True)
    assert "answered 201 and yet no success: no" in (row.error or "")
    assert (row.gateway.kinds, row.warnings) == (["create", "delete"], [])
    assert notes == ([] if config else ["creating", "gone"])


@pytest.mark.parametrize("status", [302, 400, 403, 409, 429, 500, 503])
async def test_a_session_that_a_refusal_names_is_deleted_before_another_try(
    notes: list[str], status: int
) -> None:
    row = await held(create=json_reply(status, REFUSED_WITH_ID), evaluation_id="eval-1")
    assert f"answered {status}: no" in (row.error or "")
    tries = 3 if status in (429, 503) else 1
    assert (row.gateway.kinds, row.warnings) == (["create", "delete"] * tries, [])
    assert notes == ["creating", "gone"]


@pytest.mark.parametrize("status", [302, 400, 403, 409, 429, 500, 503])
async def test_a_session_that_a_refusal_names_and_that_is_left_is_hidden_by_no_other_try(
    notes: list[str], status: int
) -> None:
    later = json_reply(403, {"error": "Forbidden"})
    refused = [json_reply(status, REFUSED_WITH_ID), later]
    row = await held(create=refused, delete=html(500), evaluation_id="eval-1")
    assert f"answered {status}: no" in (row.error or "")
    assert row.gateway.kinds == ["create", "delete"]
    assert row.warns("may have kept it")
    assert notes == ["creating"]


async def test_a_try_after_a_session_that_was_deleted_again_may_be_the_good_one() -> None:
    row = await held(create=[json_reply(503, REFUSED_WITH_ID), created])
    row.passed("fine")
    assert row.gateway.kinds[:3] == ["create", "delete", "create"]


@pytest.mark.parametrize(
    ("agent_id", "is_made"),
    [("support-agent", False), (SESSION_ID, True)],
    ids=["agent", "session"],
)
async def test_a_refusal_that_repeats_the_agents_name_names_no_session(
    notes: list[str], agent_id: str, is_made: bool
) -> None:
    body = {"error": "Forbidden", "agentId": agent_id}
    row = await held(create=json_reply(403, body), evaluation_id="eval-1")
    row.failed("not_found", "config", "create", retryable=False)
    assert row.warns("may have kept it") == is_made
    assert notes == (["creating"] if is_made else ["creating", "gone"])


async def test_a_session_that_is_called_a_failure_and_cannot_be_deleted_is_told(
    notes: list[str],
) -> None:
    refused = json_reply(201, REFUSED_WITH_ID)
    row = await held(create=refused, delete=html(500), evaluation_id="eval-1")
    row.failed("gateway", INFRA, "create", retryable=True)
    assert "answered 201 and yet no success: no" in (row.error or "")
    assert row.warns("may have kept it")
    assert notes == ["creating"]


@pytest.mark.parametrize("status", [201, 500])
async def test_a_pinned_thread_stays_where_its_reply_calls_it_a_failure(status: int) -> None:
    refused = json_reply(status, REFUSED_WITH_ID)
    row = await held(create=refused, config={"thread": "t-1"}, kept=True)
    row.failed("gateway", INFRA, "create", retryable=True)
    assert (row.gateway.kinds, row.warnings) == (["create"], [])


@pytest.mark.parametrize(
    ("status", "body", "is_made"),
    [
        (201, CREATED[:-1], True),
        (201, json.dumps({"success": True, "agentId": SESSION_ID}), True),
        (200, json.dumps({"success": True, "agentId": SESSION_ID}), True),
        (200, "<html>Log in</html>", False),
    ],
    ids=["cut", "without-token", "without-token-200", "login-page"],
)
async def test_a_create_reply_that_may_have_made_a_session_is_told(
    notes: list[str], status: int, body: str, is_made: bool
) -> None:
    row = await held(create=answered(status, body), evaluation_id="eval-1")
    row.failed("gateway", INFRA, "create", retryable=True)
    assert row.warns("may have kept it") == is_made
    assert notes == ["creating"]


def cookies_of(row: Any) -> list[str]:
    return [request.headers.get("cookie", "") for request in row.gateway.requests]


async def test_a_cookie_of_the_gateway_stands_beside_that_of_the_config() -> None:
    body = json.dumps({"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN})
    row = await held(
        create=answered(201, body, "Set-Cookie: lb=node1; Path=/"),
        config={"headers": {"cookie": "login=canary-cookie"}},
    )
    row.passed("fine")
    first, *later = cookies_of(row)
    assert first == "login=canary-cookie"
    assert set(later) == {"login=canary-cookie; lb=node1"}


@pytest.mark.parametrize("cookie", ["name=caf\u00e9", "lb=1; Secure"])
async def test_a_cookie_that_cannot_be_sent_is_left_out(cookie: str) -> None:
    body = json.dumps({"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN})
    row = await held(create=answered(201, body, f"Set-Cookie: {cookie}"))
    row.passed("fine")
    assert set(cookies_of(row)) == {""}
