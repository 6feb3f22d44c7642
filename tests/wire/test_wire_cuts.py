"""A sample of cuts and framings over a real socket, through the whole provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from tests.wire.wire_answers import (
    CONNECTED,
    AfterMessage,
    Cut,
    answers,
    call,
    complete,
    event,
    output,
    queued,
    stream,
)
from tests.wire.wire_framing import REFRAMED, one_by_one, over_several_lines, plain_frames, reframed
from tests.wire.wire_gateway import Exchange, WireGateway
from tests.wire.wire_recordings import Recording

pytestmark = pytest.mark.anyio

SAMPLE = ["parallel-tools", "empty-answer", "model-error-500", "ask-user"]


def pieces(size: int) -> Cut:
    """Cut into chunks of ``size`` bytes, whatever they cut through."""

    def cut(data: bytes) -> Iterator[bytes]:
        return (data[i : i + size] for i in range(0, len(data), size))

    return cut


async def played(recording: Recording, **options: Any) -> dict[str, Any]:
    async with WireGateway(recording.answers(**options)) as gateway:
        response = await call(gateway.url, *(message.content for message in recording.messages))
    return told(response)


def told(response: dict[str, Any]) -> dict[str, Any]:
    """A response without what differs between two calls."""
    metadata = response["metadata"]
    turns = [
        {key: value for key, value in turn.items() if not key.endswith("Ms")}
        for turn in metadata["turns"]
    ]
    kept = ("toolCalls", "retrievedContext", "retrievedSnippets", "interactions", "messages")
    return {
        "output": response["output"],
        "error": response.get("error"),
        "turns": turns,
        **{key: metadata.get(key) for key in kept},
    }


@pytest.mark.parametrize("size", [1, 2, 7, 61, 256])
@pytest.mark.parametrize("name", [*SAMPLE, "multi-turn-reconnect.3"])
async def test_chunks_of_any_size_give_the_same_response(name: str, size: int) -> None:
    recording = Recording(name)
    assert await played(recording, cut=pieces(size)) == await played(recording)


@pytest.mark.parametrize("framing", REFRAMED)
async def test_a_proxy_that_reframes_changes_nothing(framing: str) -> None:
    recording = Recording("parallel-tools")

    def cut(data: bytes) -> Iterator[bytes]:
        yield from pieces(5)(reframed(plain_frames(data), framing))

    assert await played(recording, cut=cut) == await played(recording)


async def test_data_over_several_lines_changes_nothing() -> None:
    recording = Recording("approval")

    def cut(data: bytes) -> Iterator[bytes]:
        yield from one_by_one("".join(map(over_several_lines, plain_frames(data))).encode())

    assert await played(recording, cut=cut) == await played(recording)


async def test_a_turn_that_ends_in_lone_crs_ends_without_another_byte() -> None:
    recording = Recording("simple")

    def cut(data: bytes) -> Iterator[bytes]:
        yield reframed(plain_frames(data), "cr")

    assert (await played(recording, cut=cut))["error"] is None


async def test_events_that_come_before_the_reply_to_the_message_count() -> None:
    """The gateway's own id is known only from the reply, and the turn may be over by then."""
    all_told = anyio.Event()

    async def late_reply(exchange: Exchange) -> None:
        await all_told.wait()
        await queued(exchange)

    def cut(data: bytes) -> Iterator[bytes]:
        yield data
        if b"complete" in data:
            all_told.set()

    turn = output("early") + complete(finalText="early")
    events = stream(CONNECTED, AfterMessage(1, answered=False), turn, cut=cut)
    async with WireGateway(answers(events=events, message=late_reply)) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == ("early", None)


async def test_equal_deltas_are_all_part_of_the_text() -> None:
    """Their timestamps tell that they are two; without ``finalText`` they are all there is."""
    turn = output("ha", timestamp=2) + output("ha", timestamp=3) + complete()
    async with WireGateway(answers(events=stream(CONNECTED, AfterMessage(1), turn))) as gateway:
        response = await call(gateway.url, "laugh")
    assert (response["output"], response.get("error")) == ("haha", None)


async def test_a_raw_line_separator_in_the_answer_is_a_character() -> None:
    text = "one\u2028two\u0085three"
    turn = output(text) + complete(finalText=text)
    async with WireGateway(answers(events=stream(CONNECTED, AfterMessage(1), turn))) as gateway:
        response = await call(gateway.url, "lines")
    assert response["output"] == text


async def test_an_event_that_is_not_json_does_not_end_the_turn() -> None:
    broken = b'event: output\ndata: {"content": "cut o\n\n'
    turn = output("before") + broken + b"event: output\ndata: []\n\n" + output(" after")
    parts = (CONNECTED, AfterMessage(1), turn + complete(finalText="before after"))
    async with WireGateway(answers(events=stream(*parts))) as gateway:
        response = await call(gateway.url, "hello")
    assert (response["output"], response.get("error")) == ("before after", None)


async def test_an_event_of_a_later_version_is_kept() -> None:
    news = event("work-state", state="busy", messageId="m-1", timestamp=2)
    parts = (CONNECTED, AfterMessage(1), news + complete(finalText="ok"))
    async with WireGateway(answers(events=stream(*parts))) as gateway:
        response = await call(gateway.url, "hello")
    [other] = response["metadata"]["turns"][0]["otherEvents"]
    assert (other["event"], other["data"]["state"]) == ("work-state", "busy")
