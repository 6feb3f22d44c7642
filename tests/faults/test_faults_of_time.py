"""Whatever hangs, in whichever phase: a limit of the config ends it, and what came is kept."""

from __future__ import annotations

from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest

from lobu_provider import LobuProvider
from tests.faults.fault_rows import INFRA, PING, TURN, heard, held, whole
from tests.wire.wire_answers import (
    CONNECTED,
    STREAM_HEAD,
    AfterMessage,
    answers,
    complete,
    event,
    queued,
    silence,
    stream,
    tool_use,
)
from tests.wire.wire_gateway import TOKEN, Answer, Exchange, WireGateway

pytestmark = pytest.mark.anyio

SHORT: Final = {"timeoutMs": 1000}
TURN_LIMIT: Final = {"turnTimeoutMs": 300}
IDLE_LIMIT: Final = {"idleTimeoutMs": 300}


async def half_a_reply(exchange: Exchange) -> None:
    """The head, the beginning of the body, and nothing more."""
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    await exchange.send(b"Content-Length: 90\r\n\r\n{")
    await exchange.client_gone()


async def half_a_head(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await exchange.client_gone()


HANGS: Final = [silence, half_a_reply, half_a_head]


@pytest.mark.parametrize("hang", HANGS)
async def test_a_create_request_that_hangs_ends_by_the_calls_limit(hang: Answer) -> None:
    row = await held(create=hang, config={"timeoutMs": 400})
    row.failed("timeout", INFRA, "create", retryable=True)
    assert row.warns("while the session was being created")


@pytest.mark.parametrize("hang", [silence, half_a_head])
async def test_a_stream_that_hangs_while_it_opens_ends_by_the_calls_limit(hang: Answer) -> None:
    row = await held(events=hang, config=SHORT)
    row.failed("timeout", INFRA, "turn", retryable=True)  # the message is not kept back for it


async def test_half_a_reply_that_is_no_stream_is_told_without_its_rest() -> None:
    row = await held(events=half_a_reply, config=SHORT)
    row.failed("gateway", INFRA, "connect", retryable=True)
    assert "answered with application/json instead of an event stream" in (row.error or "")
    assert row.count("message") == 0


@pytest.mark.parametrize("hang", HANGS)
async def test_a_message_that_hangs_ends_by_the_turns_limit(hang: Answer) -> None:
    row = await held(message=hang, config=TURN_LIMIT)
    row.failed("timeout", INFRA, "send", retryable=True)
    assert row.error is not None
    assert "turnTimeoutMs" in row.error
    assert row.count("message") == 1


async def test_a_second_message_that_hangs_ends_by_the_calls_limit_and_keeps_the_first() -> None:
    events = stream(CONNECTED, AfterMessage(1), TURN + complete(finalText="one"))
    row = await held("1", "2", events=events, message=[queued, silence], config=SHORT)
    row.failed("timeout", INFRA, "send", retryable=True).kept("", "call_1")
    assert row.turns[0]["output"] == "one"


@pytest.mark.parametrize("hang", HANGS)
async def test_a_message_whose_reply_hangs_passes_by_the_events_of_its_turn(
    hang: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the reply is lost: they prove that it was queued."""
    monkeypatch.setattr("lobu_provider.gateway_client.REPLY_GRACE_S", 0.1)
    got: list[str] = []

    async def hangs(exchange: Exchange) -> None:
        got.append(exchange.request.json["messageId"])
        await hang(exchange)

    async def events(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_arrived(1)
        await anyio.wait_all_tasks_blocked()
        await exchange.chunk(tool_use("lookup", "call_1", got[0]))
        await exchange.chunk(complete(got[0], finalText="fine"))
        await exchange.client_gone()

    row = await held(events=events, message=hangs, config={"timeoutMs": 5000})
    row.passed("fine", "call_1")
    assert row.count("message") == 1


@pytest.mark.parametrize(
    ("config", "key"),
    [(SHORT, "timeoutMs"), (TURN_LIMIT, "turnTimeoutMs"), (IDLE_LIMIT, "idleTimeoutMs")],
)
async def test_a_turn_that_hangs_ends_by_each_limit_and_keeps_what_came(
    config: dict[str, Any], key: str
) -> None:
    row = await heard(TURN, config=config)
    row.failed("timeout", INFRA, "turn", retryable=True).kept()
    assert row.error is not None
    assert f"Raise {key} " in row.error


STATUS: Final = {"type": "status", "status": "Working"}


@pytest.mark.parametrize(
    "noise",
    [
        PING,
        event("status", **STATUS, messageId="another"),
        event("output", content="x", messageId="another"),
        b": comment\n\n",
        b"\n",
    ],
)
async def test_what_is_not_the_turns_own_does_not_keep_it_alive(noise: bytes) -> None:
    row = await held(events=endless(noise), config=IDLE_LIMIT)
    row.failed("timeout", INFRA, "turn", retryable=True).kept()


def endless(data: bytes) -> Answer:
    """A stream that repeats ``data`` until the session is deleted, as fast as it is read."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(STREAM_HEAD)
        await exchange.chunk(CONNECTED)
        await exchange.gateway.message_answered(1)
        await exchange.chunk(TURN)
        while not exchange.gateway.of_kind("delete"):
            await exchange.chunk(data)
            await anyio.lowlevel.checkpoint()
        exchange.close()

    return answer


@pytest.mark.not_recorded  # how many connections fit into the limit depends on the machine
async def test_a_stream_that_is_lost_again_and_again_does_not_keep_a_dead_turn_alive() -> None:
    """Each new connection brings something, but nothing of the turn."""
    losses = [
        stream(
            CONNECTED,
            AfterMessage(1),
            event("status", **STATUS, messageId="another", timestamp=number),
            end="eof",
        )
        for number in range(2000)
    ]
    row = await held(events=[*losses, stream(CONNECTED)], config=IDLE_LIMIT)
    row.failed("timeout", INFRA, "turn", retryable=True)


async def test_the_turns_own_status_keeps_it_alive_but_not_beyond_the_turns_limit() -> None:
    own = event("status", **STATUS, messageId="m-1")
    limits = {"idleTimeoutMs": 500, "turnTimeoutMs": 1000}
    row = await held(events=endless(own), config=limits)
    row.failed("timeout", INFRA, "turn", retryable=True).kept()
    assert row.error is not None
    assert "turnTimeoutMs" in row.error


async def test_text_without_end_is_ended_by_the_calls_limit() -> None:
    row = await held(
        events=endless(event("output", content="x" * 50, messageId="m-1", timestamp=9**9)),
        config={"timeoutMs": 600},
    )
    row.failed("timeout", INFRA, "turn", retryable=True)
    assert row.output.startswith("Half an ansxxx")


@pytest.mark.parametrize("hang", HANGS)
async def test_a_deletion_that_hangs_is_told_and_changes_no_verdict(hang: Answer) -> None:
    row = await held(delete=hang, config={"timeoutMs": 4000})
    row.passed("fine")
    assert row.warns("left at the gateway")


async def test_everything_that_hangs_at_once_is_still_bounded() -> None:
    row = await held(message=silence, delete=silence, config=SHORT)
    row.failed("timeout", INFRA, "send", retryable=True)
    assert row.warns("left at the gateway")


async def test_promptfoos_own_limit_comes_first_and_is_told() -> None:
    """The key that promptfoo reads; the provider of the Python door is told of it."""
    async with WireGateway(answers(message=silence)) as gateway:
        provider = LobuProvider(
            {
                "config": {"agent": "support-agent", "gateway": gateway.url},
                "env": {"LOBU_TOKEN": TOKEN},
            },
            host_limit_s=1.0,
        )
        response = await provider.call_api("hello")
    row = whole(response, gateway)
    row.failed("timeout", INFRA, "send", retryable=True)
    assert row.warns("promptfoo itself gives a call 1 s")
