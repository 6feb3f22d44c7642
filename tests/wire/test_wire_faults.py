"""Whatever the gateway or the network does: a row that says what happened, in time, losing nothing.

Every row that fails here holds an error with its code in front, ``metadata.error``, what had been
said and done, and no token, although the faulty servers show the tokens that they were sent.
"""

from __future__ import annotations

import json
import socket
import zlib
from typing import Any, Final

import pytest

import lobu_provider.conversation
import lobu_provider.event_stream
from lobu_provider import RequestLimits, SessionPlan, open_conversation
from lobu_provider.gateway_client import GatewayClient
from tests.faults.fault_rows import INFRA, TURN
from tests.wire import wire_answers
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    answers,
    call,
    complete,
    deleted,
    echo_request,
    event,
    failed,
    html,
    json_reply,
    output,
    queued,
    raw,
    reset,
    silence,
    stream,
)
from tests.wire.wire_gateway import SESSION_TOKEN, TOKEN, Answer, WireGateway

pytestmark = pytest.mark.anyio

SHORT_MS: Final = 1500
"""A time limit that runs out in these tests; the rest of the call needs a few milliseconds."""

ZOD: Final = json.dumps(
    [{"code": "invalid_value", "values": ["claude"], "path": ["provider"]}], indent=2
)


@pytest.fixture(autouse=True)
def no_token_in_the_logs(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Any:
    caplog.set_level("INFO")
    yield
    written = "".join(capfd.readouterr()) + caplog.text
    assert TOKEN not in written
    assert SESSION_TOKEN not in written


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for in vain in these tests is not waited for long."""
    monkeypatch.setattr(lobu_provider.event_stream, "FIRST_BYTE_S", 0.05)
    monkeypatch.setattr(lobu_provider.conversation, "ERROR_GRACE_S", 0.05)
    monkeypatch.setattr(lobu_provider.conversation, "NOTICE_GRACE_S", 0.05)


async def fault(code: str, error_class: str, phase: str, /, **special: Any) -> dict[str, Any]:
    """Have one conversation with a gateway that does ``special`` things; check the error."""
    config = special.pop("config", {})
    messages = special.pop("messages", ["hello"])
    async with WireGateway(answers(**special)) as gateway:
        response = await call(gateway.url, *messages, **config)
    check(response, code, error_class, phase)
    return response


def check(response: dict[str, Any], code: str, error_class: str, phase: str) -> None:
    text = json.dumps(response)
    assert TOKEN not in text
    assert SESSION_TOKEN not in text
    assert response["error"].startswith(f"[{code}] ")
    error = response["metadata"]["error"]
    assert (error["code"], error["class"], error["phase"]) == (code, error_class, phase)
    assert response["metadata"]["rateLimitKind"] == "quota"
    assert isinstance(response["output"], str)


def kept(response: dict[str, Any]) -> tuple[str, list[str]]:
    """What a failed row still tells."""
    return response["output"], [x["toolCallId"] for x in response["metadata"]["toolCalls"]]


# --- no answer at all --------------------------------------------------------------------------


async def test_a_gateway_that_is_down() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        response = await call(f"http://127.0.0.1:{port}", "hello")
    check(response, "gateway", "infrastructure", "create")
    assert f"127.0.0.1:{port}" in response["error"]
    assert response["metadata"]["turns"] == []


async def test_a_create_request_that_is_never_answered() -> None:
    config = {"timeoutMs": 300}
    await fault("timeout", "infrastructure", "create", create=silence, config=config)


async def test_an_event_stream_that_never_answers() -> None:
    config = {"timeoutMs": SHORT_MS}
    await fault("timeout", "infrastructure", "connect", events=silence, config=config)


@pytest.mark.usefixtures("short_waits")
async def test_a_silent_event_stream_does_not_keep_the_message_back() -> None:
    async with WireGateway(answers(events=silence)) as gateway:
        response = await call(gateway.url, "hello", timeoutMs=SHORT_MS)
    check(response, "timeout", "infrastructure", "turn")
    assert gateway.kinds == ["create", "events", "message", "delete"]


async def test_a_message_that_is_never_answered() -> None:
    config = {"timeoutMs": SHORT_MS}
    response = await fault("timeout", "infrastructure", "send", message=silence, config=config)
    assert response["metadata"]["error"]["turn"] == 1


async def test_a_turn_that_never_ends_keeps_what_had_come() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN)
    config = {"timeoutMs": SHORT_MS}
    response = await fault("timeout", "infrastructure", "turn", events=events, config=config)
    assert kept(response) == ("Half an ans", ["call_1"])
    assert "'output'" in response["error"]


async def test_heartbeats_do_not_keep_a_dead_turn_alive() -> None:
    ping = event("ping", timestamp=5)
    events = stream(CONNECTED, AfterMessage(1), ping * 3)
    config = {"timeoutMs": SHORT_MS}
    await fault("timeout", "infrastructure", "turn", events=events, config=config)


async def test_a_stream_without_even_heartbeats_is_lost_before_the_time_limit() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN)
    async with WireGateway(answers(events=events)) as gateway:
        limits = RequestLimits(silence_s=0.3)
        async with (
            wire_answers.open_pool() as pool,
            GatewayClient(f"{gateway.url}/lobu", TOKEN, limits=limits, pool=pool) as client,
            open_conversation(client, SessionPlan("support-agent")) as conversation,
        ):
            turn = await conversation.say("hello")
    assert turn.failure is not None
    assert (turn.failure.code, turn.failure.phase) == ("stream_lost", "turn")
    assert "fell silent" in turn.failure.message
    assert (turn.output, len(turn.tool_calls)) == ("Half an ans", 1)


# --- creating the session ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"error": "invalid_token", "error_description": "PAT is invalid, expired, or revoked"},
        {"success": False, "error": "Unauthorized"},
    ],
)
async def test_a_refused_token(body: dict[str, Any]) -> None:
    response = await fault("auth", "config", "create", create=json_reply(401, body))
    assert body.get("error_description", body["error"]) in response["error"]
    assert "lobu token --raw" in response["error"]


async def test_an_agent_that_is_not_there_or_not_ours() -> None:
    answer = json_reply(403, {"success": False, "error": "Forbidden"})
    response = await fault("not_found", "config", "create", create=answer)
    assert "support-agent" in response["error"]
    assert "organisation" in response["error"]


async def test_a_wrong_address() -> None:
    response = await fault("not_found", "config", "create", create=html(404))
    assert "/lobu" in response["error"]


async def test_an_unknown_organisation() -> None:
    answer = json_reply(404, {"error": 'Unknown organization "acme"'})
    response = await fault("not_found", "config", "create", create=answer)
    assert "LOBU_ORG" in response["error"]


async def test_a_provider_that_the_gateway_does_not_take() -> None:
    """The error is an object there, with JSON text inside."""
    body = {"success": False, "error": {"name": "ZodError", "message": ZOD}}
    answer = json_reply(400, body)
    config = {"provider": "openai"}
    response = await fault("config", "config", "create", create=answer, config=config)
    assert "only 'claude'" in response["error"]


@pytest.mark.parametrize(
    ("answer", "code", "says", "tries"),
    [
        (json_reply(429, {"success": False, "error": "Too many"}), "rate_limit", "Too many", 3),
        (json_reply(500, {"error": "Internal server error"}), "gateway", "Internal server", 1),
        (json_reply(503, {"error": "Unable to resolve organization"}), "gateway", "503", 3),
        (html(502, "<html>502 Bad Gateway nginx</html>"), "gateway", "Bad Gateway", 3),
        (html(200, "<html>Please log in</html>"), "gateway", "Please log in", 1),
        (json_reply(201, {"success": True, "agentId": "a_b"}), "gateway", "token", 1),
        (json_reply(201, {"success": True, "agentId": "", "token": "x"}), "gateway", "agentId", 1),
        (json_reply(201, {"success": True, "agentId": 5, "token": "x"}), "gateway", "agentId", 1),
        (json_reply(201, [1, 2]), "gateway", "not a JSON object", 1),
        (json_reply(201, None), "gateway", "not a JSON object", 1),
        (html(201, ""), "gateway", "empty body", 1),
        (html(201, '{"agentId": "a", "tok'), "gateway", "not a JSON object", 1),
        (html(201, "[" * 100_000), "gateway", "not a JSON object", 1),
        (html(200, "x" * 1_200_000), "gateway", "not a JSON object", 1),
        (echo_request, "gateway", "500", 1),
        (reset, "gateway", "broke", 3),
        (raw(b""), "gateway", "broke", 3),
        (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), "gateway", "broke", 3),
        (raw(b"HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{"), "gateway", "broke", 3),
        (
            raw(b"HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"),
            "gateway",
            "cannot be read",
            1,
        ),
        (
            raw(b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
            "gateway",
            "broke",
            3,
        ),
    ],
)
async def test_a_session_that_is_not_created(
    answer: Answer, code: str, says: str, tries: int
) -> None:
    async with WireGateway(answers(create=answer)) as gateway:
        response = await call(gateway.url, "hello")
    check(response, code, "infrastructure", "create")
    assert says in response["error"]
    assert gateway.kinds == ["create"] * tries
    assert ("Tried 3 times." in response["error"]) == (tries == 3)
    assert response["metadata"]["turns"] == []
    assert "sessionId" in response


async def test_a_redirect_is_told_and_not_followed() -> None:
    secret = "one-time-code-5512"
    place = f"https://user:{secret}@login.example/start?code={secret}#{secret}"
    redirect = json_reply(302, {}, f"Location: {place}")
    async with WireGateway(answers(create=redirect)) as gateway:
        response = await call(gateway.url, "hello")
    check(response, "gateway", "config", "create")
    assert "login.example/start" in response["error"]
    assert secret not in json.dumps(response)
    assert gateway.kinds == ["create"]


@pytest.mark.parametrize("place", ["/lobu/elsewhere", "http://[bad", "", "/\u00e9"])
async def test_a_redirect_to_anywhere_is_one_request(place: str) -> None:
    head = f"HTTP/1.1 307 Temporary Redirect\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
    async with WireGateway(answers(create=raw(head.encode()))) as gateway:
        response = await call(gateway.url, "hello")
    assert response["metadata"]["error"]["code"] == "gateway"
    assert gateway.kinds == ["create"]


# --- the event stream --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code", "error_class", "tries"),
    [
        (json_reply(404, {"success": False, "error": "Agent not found"}), "not_found", INFRA, 1),
        (
            json_reply(429, {"success": False, "error": "Maximum 5 connections"}),
            "rate_limit",
            INFRA,
            3,
        ),
        (json_reply(401, {"success": False, "error": "Unauthorized"}), "auth", INFRA, 1),
        (html(200), "gateway", INFRA, 1),
        (json_reply(200, {"status": "ok"}), "gateway", INFRA, 1),
        (html(502), "gateway", INFRA, 3),
        (echo_request, "gateway", INFRA, 1),
        (reset, "gateway", INFRA, 3),
        (raw(b""), "gateway", INFRA, 3),
        (json_reply(302, {}, "Location: https://login.example/"), "gateway", "config", 1),
    ],
)
async def test_a_stream_that_does_not_open(
    answer: Answer, code: str, error_class: str, tries: int
) -> None:
    async with WireGateway(answers(events=answer)) as gateway:
        response = await call(gateway.url, "hello")
    check(response, code, error_class, "connect")
    asked = len(gateway.of_kind("events"))
    assert gateway.kinds == ["create", *["events"] * asked, "delete"], "nothing was sent"
    # aiohttp itself repeats a GET whose connection breaks, once each time.
    assert asked in ((3, 6) if "broke" in response["error"] else (tries,))


@pytest.mark.parametrize("end", ["eof", "cut", "reset"])
async def test_a_stream_that_ends_within_a_turn(end: Any) -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN, end=end)
    async with WireGateway(answers(events=events)) as gateway:
        response = await call(gateway.url, "hello")
    check(response, "stream_lost", "infrastructure", "turn")
    if end != "reset":  # a reset may overtake the bytes before it
        assert kept(response) == ("Half an ans", ["call_1"])
    assert response["metadata"]["error"]["turn"] == 1
    assert response["metadata"]["error"]["retryable"] is True
    assert gateway.kinds[-1] == "delete"


async def test_a_complete_that_is_cut_off_is_no_end() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN + complete(finalText="x")[:-1], end="eof")
    response = await fault("stream_lost", "infrastructure", "turn", events=events)
    assert kept(response) == ("Half an ans", ["call_1"])


async def test_a_stream_that_ends_between_turns_fails_the_next_and_keeps_the_first() -> None:
    first = TURN + complete(finalText="one")
    events = stream(CONNECTED, AfterMessage(1), first, end="eof")
    messages = ["one", "two", "three"]
    response = await fault(
        "stream_lost", "infrastructure", "turn", events=events, messages=messages
    )
    assert kept(response) == ("", ["call_1"])
    assert [turn["output"] for turn in response["metadata"]["turns"]] == ["one", ""]
    assert response["metadata"]["error"]["turn"] == 2


@pytest.mark.parametrize("end", ["eof", "hold"])
async def test_a_session_that_someone_deletes_within_a_turn(end: Any) -> None:
    """Told by ``closed``; whether the connection ends too is the proxy's affair."""
    closed = event("closed", reason="agent_deleted")
    events = stream(CONNECTED, AfterMessage(1), TURN + closed, end=end)
    response = await fault("stream_lost", "infrastructure", "turn", events=events)
    assert kept(response) == ("Half an ans", ["call_1"])
    assert "agent_deleted" in response["error"]


@pytest.mark.usefixtures("short_waits")
async def test_a_server_that_sends_its_headers_with_the_first_event() -> None:
    turn = output("late") + complete(finalText="late")
    events = stream(AfterMessage(1), CONNECTED + turn, early_head=False)
    async with WireGateway(answers(events=events)) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == ("late", None)
    assert gateway.kinds == ["create", "events", "message", "delete"]


async def test_a_compressed_stream_is_read() -> None:
    packer = zlib.compressobj(wbits=31)
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    first = packer.compress(CONNECTED) + packer.flush(zlib.Z_SYNC_FLUSH)
    rest = packer.compress(complete(finalText="packed")) + packer.flush(zlib.Z_SYNC_FLUSH)
    async with WireGateway(
        answers(events=stream(first, AfterMessage(1), rest, head=head))
    ) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == ("packed", None)


async def test_a_stream_that_claims_to_be_compressed_and_is_not() -> None:
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    async with WireGateway(answers(events=stream(CONNECTED, head=head))) as gateway:
        response = await call(gateway.url, "hello")
    check(response, "stream_lost", INFRA, "turn")
    assert response["metadata"]["error"]["retryable"] is True
    assert "cannot be decompressed" in response["error"]


# --- sending a message -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code", "tries"),
    [
        (json_reply(403, {"success": False, "error": "Forbidden"}), "not_found", 1),
        (json_reply(500, {"error": "Internal server error"}), "gateway", 1),
        (html(200), "gateway", 1),
        (json_reply(200, [1]), "gateway", 1),
        (echo_request, "gateway", 1),
        (reset, "gateway", 3),
        (raw(b""), "gateway", 3),
    ],
)
async def test_a_second_message_that_is_not_taken_keeps_the_first_turn(
    answer: Answer, code: str, tries: int
) -> None:
    first = TURN + complete(finalText="one")
    async with WireGateway(
        answers(events=stream(CONNECTED, AfterMessage(1), first), message=[queued, answer])
    ) as gateway:
        response = await call(gateway.url, "one", "two", "three")
    check(response, code, "infrastructure", "send")
    assert kept(response) == ("", ["call_1"])
    turns = response["metadata"]["turns"]
    assert [(turn["user"], turn["output"]) for turn in turns] == [("one", "one"), ("two", "")]
    assert response["metadata"]["error"]["turn"] == 2
    assert gateway.kinds == ["create", "events", "message", *["message"] * tries, "delete"]
    ids = [request.json["messageId"] for request in gateway.of_kind("message")]
    assert len(set(ids)) == 2, "each repeat has the id of the first try"


async def test_a_reply_without_an_id_leaves_ours() -> None:
    own: list[str] = []

    async def echoed(exchange: Any) -> None:
        own.append(exchange.request.json["messageId"])
        await json_reply(200, {"success": True, "queued": True})(exchange)

    async def told(exchange: Any) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_answered(1)
        await exchange.chunk(complete(own[0], finalText="mine"))
        await exchange.client_gone()

    async with WireGateway(answers(events=told, message=echoed)) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == ("mine", None)
    assert response["metadata"]["turns"][0]["messageId"] == own[0]


async def test_a_message_with_half_a_character_is_sent() -> None:
    """JSON can hold a lone surrogate as an escape, and so can a test case."""
    async with WireGateway(answers()) as gateway:
        response = await call(gateway.url, "half \ud83d of it")
    assert response["output"] == "fine"
    assert gateway.of_kind("message")[0].json["content"] == "half \ud83d of it"


# --- deleting the session ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (silence, "did not answer DELETE"),
        (json_reply(500, {"error": "Internal server error"}), "500"),
        (echo_request, "500"),
        (reset, "broke"),
    ],
)
async def test_a_session_that_cannot_be_deleted_is_a_warning(answer: Answer, says: str) -> None:
    async with WireGateway(answers(delete=answer)) as gateway:
        response = await call(gateway.url, "hello", timeoutMs=4000)
    assert (response["output"], response.get("error")) == ("fine", None)
    [warning] = response["metadata"]["warnings"]
    assert says in warning
    assert TOKEN not in json.dumps(response)
    assert SESSION_TOKEN not in json.dumps(response)


@pytest.mark.parametrize("status", [200, 204, 403, 404])
async def test_a_session_that_is_gone_already_is_no_matter(status: int) -> None:
    async def answer(exchange: Any) -> None:
        if status == 204:
            await exchange.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            body = {"success": True} if status == 200 else {"success": False, "error": "Forbidden"}
            await json_reply(status, body)(exchange)

    async with WireGateway(answers(delete=answer)) as gateway:
        response = await call(gateway.url, "hello")
    assert response["metadata"]["warnings"] == []
    assert "error" not in response


async def test_a_failure_is_not_hidden_by_a_session_that_cannot_be_deleted() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN + failed("400 Bad request"))
    response = await fault("provider", "infrastructure", "turn", events=events, delete=reset)
    assert len(response["metadata"]["warnings"]) == 1


# --- turns that end badly ----------------------------------------------------------------------

CREDENTIALS: Final = "Your AI provider credentials are invalid or expired. Ask an admin."


@pytest.mark.parametrize(
    ("end", "code", "error_class"),
    [
        (failed("400 Bad request"), "provider", "infrastructure"),
        (failed("No such thing happened before"), "worker", "agent"),
        (failed("Worker startup failed and your request could not be processed."), "worker", INFRA),
        (failed("Message rejected: no"), "guardrail", "agent"),
        (complete(finalText=f"{CREDENTIALS}"), "provider", INFRA),
        (complete(finalText="💥 Worker crashed (exit 1)"), "worker", INFRA),
        (complete(finalText="Message blocked by guardrail: no"), "guardrail", "agent"),
    ],
)
async def test_a_turn_that_fails_keeps_its_tool_calls(
    end: bytes, code: str, error_class: str
) -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN + end)
    response = await fault(code, error_class, "turn", events=events)
    assert kept(response)[1] == ["call_1"]


async def test_credentials_that_are_told_in_streamed_text_alone() -> None:
    """Version 11 sends no ``finalText``, and calls this turn a success."""
    turn = output(CREDENTIALS[:20]) + output(CREDENTIALS[20:]) + complete()
    events = stream(CONNECTED, AfterMessage(1), turn)
    response = await fault("provider", "infrastructure", "turn", events=events)
    assert response["output"] == CREDENTIALS


async def test_an_answer_that_mentions_such_words_is_an_answer() -> None:
    text = f"If you read '{CREDENTIALS}' or '❌ Session failed', call us."
    turn = output(text) + complete(finalText=text)
    async with WireGateway(answers(events=stream(CONNECTED, AfterMessage(1), turn))) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == (text, None)


@pytest.mark.parametrize("end", [complete(), complete(finalText=""), complete(finalText=" \n")])
async def test_a_turn_without_any_answer_is_empty(end: bytes) -> None:
    events = stream(CONNECTED, AfterMessage(1), end)
    await fault("empty", "agent", "turn", events=events)


@pytest.mark.usefixtures("short_waits")
async def test_an_error_without_its_complete_is_an_error() -> None:
    error = event("error", type="error", error="400 Bad request", messageId="m-1", timestamp=3)
    events = stream(CONNECTED, AfterMessage(1), TURN + error)
    response = await fault("provider", "infrastructure", "turn", events=events)
    assert kept(response) == ("Half an ans", ["call_1"])


@pytest.mark.usefixtures("short_waits")
async def test_a_notice_alone_asks_for_an_action() -> None:
    notice = event(
        "ephemeral", type="ephemeral", content="Sign in: https://x.example", messageId="m-1"
    )
    events = stream(CONNECTED, AfterMessage(1), notice)
    response = await fault("action_required", "agent", "turn", events=events)
    assert "https://x.example" in response["error"]
    [card] = response["metadata"]["interactions"]
    assert card["content"] == "Sign in: https://x.example"


async def test_an_error_ends_the_conversation_and_is_told_once() -> None:
    events = stream(CONNECTED, AfterMessage(1), failed("400 Bad request"), AfterMessage(2))
    async with WireGateway(answers(events=events)) as gateway:
        response = await call(gateway.url, "one", "two")
    check(response, "provider", "infrastructure", "turn")
    assert response["error"].count("400 Bad request") == 1
    assert len(gateway.of_kind("message")) == 1
    assert len(response["metadata"]["turns"]) == 1


async def test_nothing_but_the_configured_address_is_asked() -> None:
    """The create reply names other URLs; where they point nothing would answer."""
    async with WireGateway(answers(delete=deleted)) as gateway:
        response = await call(gateway.url, "hello")
    assert "error" not in response
    assert {request.headers["host"] for request in gateway.requests} == {gateway.url[7:]}
    tokens = [request.headers["authorization"] for request in gateway.requests]
    assert tokens == [f"Bearer {TOKEN}", *[f"Bearer {SESSION_TOKEN}"] * 3]
