"""``lobu-provider ask`` judges a turn with what came after its end, as a run does."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest

from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    answers,
    complete,
    event,
    json_reply,
    output,
    stream,
)
from tests.wire.wire_gateway import SESSION_ID, SESSION_TOKEN, TOKEN, WireGateway

pytestmark = pytest.mark.anyio

FAILED = event("error", error="boom", messageId="m-1", timestamp=3)
SECOND = complete("m-2", finalText="two")


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Set what the gateway asks for, and keep the ledger out of it."""
    monkeypatch.setenv("LOBU_TOKEN", TOKEN)
    monkeypatch.setenv("LOBU_LEDGER_DIR", "off")


async def ask(gateway: WireGateway, *arguments: str) -> CompletedProcess[bytes]:
    options = ("--gateway", gateway.url, "--agent", "support-agent", *arguments)
    command = [sys.executable, "-m", "lobu_provider", "ask", *options]
    return await anyio.run_process(command, check=False)


@pytest.mark.parametrize(
    ("parts", "questions", "told"),
    [
        ([complete(finalText="fine") + FAILED], ["hi"], "boom"),
        ([complete(finalText="fine"), FAILED], ["hi"], "boom"),
        ([complete(finalText="fine"), AfterMessage(2), FAILED + SECOND], ["hi", "ho"], "boom"),
        ([output("par") + complete(), AfterMessage(2), SECOND], ["hi", "ho"], "final text"),
    ],
)
async def test_a_turn_that_fails_after_its_end_is_exit_code_1_as_with_json(
    parts: list[bytes | AfterMessage], questions: list[str], told: str
) -> None:
    for option in ([], ["--json"]):
        events = stream(CONNECTED, AfterMessage(1), *parts)
        async with WireGateway(answers(events=events)) as gateway:
            done = await ask(gateway, *option, *questions)
        assert done.returncode == 1
        assert told in (done.stdout if option else done.stderr).decode()


async def test_the_warnings_of_a_turn_are_told_as_with_json() -> None:
    events = stream(CONNECTED, AfterMessage(1), output("an old gateway's") + complete())
    async with WireGateway(answers(events=events)) as gateway:
        done = await ask(gateway, "hi")
    async with WireGateway(answers(events=events)) as gateway:
        response = json.loads((await ask(gateway, "--json", "hi")).stdout)
    assert (done.returncode, done.stdout) == (0, b"an old gateway's\n")
    assert done.stderr.decode() == "".join(
        f"warning: {warning}\n" for warning in response["metadata"]["warnings"]
    )
    assert "Turn 1: The gateway confirmed no final text" in done.stderr.decode()


async def test_every_token_of_the_create_reply_is_kept_out_of_the_answer() -> None:
    other = "s3cret-of-the-create-reply"
    reply = {"success": True, "agentId": SESSION_ID, "token": SESSION_TOKEN, "sessionToken": other}
    events = stream(CONNECTED, AfterMessage(1), complete(finalText=f"it is {other}!"))
    async with WireGateway(answers(create=json_reply(201, reply), events=events)) as gateway:
        done = await ask(gateway, "hi")
    assert (done.returncode, done.stdout) == (0, b"it is ***!\n")
