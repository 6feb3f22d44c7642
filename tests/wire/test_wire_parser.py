"""The event parser gives the same events however the bytes are cut and framed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from itertools import pairwise
from typing import Any

import pytest

from lobu_provider.events import Frame, parse_event
from lobu_provider.sse import iter_frames
from tests.wire.wire_framing import (
    REFRAMED,
    frames_of,
    one_by_one,
    over_several_lines,
    plain_frames,
    reframed,
)
from tests.wire.wire_recordings import STREAMS, stream_bytes

BOM = b"\xef\xbb\xbf"
SHORT = [name for name in STREAMS if len(stream_bytes(name)) < 2000]
"""Those for which all cuts in all framings are quick; the others go through the first test."""


APART = 2000
"""Bytes between two cuts of one reading. The one long recording, of which a frame has some 600, is
so read 2,000 times instead of 22,000 times, and is still cut at every byte."""


def assert_every_cut_agrees(data: bytes, expected: list[Frame]) -> None:
    for first in range(min(len(data), APART) + 1):
        edges = [0, *range(first, len(data), APART), len(data)]
        assert frames_of(data[a:b] for a, b in pairwise(edges)) == expected, f"cut at {first}"


@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_cut_at_any_byte_gives_the_same_frames(name: str) -> None:
    data = stream_bytes(name)
    assert_every_cut_agrees(data, plain_frames(data))


@pytest.mark.parametrize("name", STREAMS)
def test_a_recording_byte_by_byte_gives_the_same_frames(name: str) -> None:
    data = stream_bytes(name)
    assert frames_of(one_by_one(data)) == plain_frames(data)


@pytest.mark.parametrize("framing", REFRAMED)
def test_the_framing_makes_no_difference(framing: str) -> None:
    for name in STREAMS:
        frames = plain_frames(stream_bytes(name))
        data = reframed(frames, framing)
        assert frames_of([data]) == frames, name
        assert frames_of([BOM, data]) == frames, name
        assert frames_of(one_by_one(BOM + data)) == frames, name


@pytest.mark.parametrize("framing", REFRAMED)
@pytest.mark.parametrize("name", ["model-error-500", "empty-answer", "worker-spawn-crash"])
def test_a_reframed_recording_cut_at_any_byte_gives_the_same_frames(
    name: str, framing: str
) -> None:
    """These hold characters of two, three and four bytes, errors, and an event after the end."""
    frames = plain_frames(stream_bytes(name))
    assert_every_cut_agrees(BOM + reframed(frames, framing), frames)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("name", SHORT)
def test_data_over_several_lines_means_the_same_event(name: str, end: str) -> None:
    frames = plain_frames(stream_bytes(name))
    data = "".join(over_several_lines(frame, end) for frame in frames).encode()
    read = frames_of(one_by_one(data))
    assert [parse_event(frame) for frame in read] == [parse_event(frame) for frame in frames]


def test_data_lines_are_joined_by_line_feeds() -> None:
    assert frames_of([b"data: a\r\ndata\rdata:  b\n\n"]) == [Frame("message", "a\n\n b")]


@pytest.mark.parametrize("noise", [b": ping\n\n", b"\n\n", b"event:\n\n", b"retry: 1\n\n"])
def test_nothing_without_name_and_data_is_an_event_once_an_id_was_seen(noise: bytes) -> None:
    frames = frames_of([b"id: 7\ndata: a\n\n", noise, noise, b"data: b\n\n"])
    assert [(frame.event, frame.data) for frame in frames] == [("message", "a"), ("message", "b")]
    assert frames[0].id == "7"


def test_a_name_without_data_is_passed_on() -> None:
    """Beyond the standard: an ``error`` must not vanish because a proxy lost its data."""
    assert frames_of([b"event: error\n\ndata: b\n\n"]) == [
        Frame("error", ""),
        Frame("message", "b"),
    ]


def test_an_id_is_kept_with_its_event_and_an_id_alone_is_no_event() -> None:
    frames = frames_of([b"id: 5\n\nid: 6\nevent: output\ndata: {}\n\n"])
    assert frames == [Frame("output", "{}", "6")]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c"])
def test_only_cr_and_lf_end_a_line(character: str) -> None:
    data = f"event: output\ndata: a{character}b\n\n".encode()
    expected = [Frame("output", f"a{character}b")]
    assert_every_cut_agrees(data, expected)
    assert frames_of(one_by_one(data.replace(b"\n", b"\r"))) == expected


@pytest.mark.parametrize("text", ["é", "漢", "🔄", "e\u0301", "👩‍👩‍👧", "\ufeffx"])
def test_a_character_cut_anywhere_arrives_whole(text: str) -> None:
    data = f"data: {text}\n\n".encode()
    assert_every_cut_agrees(data, [Frame("message", text)])


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    expected = [Frame("message", "a"), Frame("message", "b")]
    assert_every_cut_agrees(BOM + b"data: a\n\ndata: b\n\n", expected)
    later = b"data: a\n\n" + BOM + b"data: b\n\n"
    assert frames_of([later]) == [Frame("message", "a")], "an unknown field, by the standard"


def test_bytes_that_are_not_utf8_are_shown_and_end_nothing() -> None:
    assert frames_of([b"data: \xff\xfea\n\ndata: b\n\n"]) == [
        Frame("message", "\ufffd\ufffda"),
        Frame("message", "b"),
    ]


@pytest.mark.parametrize("name", ["simple", "empty-answer"])
@pytest.mark.parametrize("framing", ["lf", "crlf", "cr"])
def test_a_frame_that_the_end_cuts_off_is_no_event(name: str, framing: str) -> None:
    frames = plain_frames(stream_bytes(name))
    data = reframed(frames, framing)
    ends = [len(reframed(frames[: n + 1], framing)) for n in range(len(frames))]
    if framing == "crlf":  # the CR of the blank line ends it, whatever follows
        ends = [end - 1 for end in ends]
    for length in range(len(data) + 1):
        whole = sum(end <= length for end in ends)
        assert frames_of([data[:length]]) == frames[:whole], f"{length} bytes"


class Stopped(Exception):  # noqa: N818 - not an error
    """Thrown into what waits, to end it."""


class Pending:
    """Something to await that never comes; tells whoever drives the coroutine by hand."""

    def __await__(self) -> Generator[str, None, None]:
        yield "waiting for bytes"


def step(frames: AsyncIterator[Frame]) -> Frame | str:
    """Ask for the next frame and run until it is there or is waited for: no clock, no loop."""
    asked: Awaitable[Frame] = anext(frames)
    running: Generator[Any, None, Frame] = asked.__await__()
    try:
        waits = str(running.send(None))
    except StopIteration as end:
        frame: Frame = end.value
        return frame
    with pytest.raises(Stopped):
        running.throw(Stopped())
    return waits


@pytest.mark.parametrize(
    "data",
    [
        b"event: output\rdata: {}\r\r",
        b"event: output\r\ndata: {}\r\n\r\n",
        b"event: output\r\ndata: {}\r\n\r",
        b"event: output\ndata: {}\n\n",
        b"event: output\ndata: {}\n\r",
        b"event: output\rdata: {}\r\n\r",
    ],
)
@pytest.mark.parametrize("cut", [one_by_one, lambda data: [data]], ids=["bytes", "whole"])
def test_a_finished_frame_does_not_wait_for_more_bytes(
    data: bytes, cut: Callable[[bytes], Iterable[bytes]]
) -> None:
    """Lone CRs too: the next byte, which would rule out CRLF, may come much later or never."""

    async def source() -> AsyncIterator[bytes]:
        for chunk in cut(data):
            yield chunk
        await Pending()

    frames = iter_frames(source())
    assert step(frames) == Frame("output", "{}")
    assert step(frames) == "waiting for bytes"


def test_a_frame_without_its_blank_line_waits() -> None:
    async def source() -> AsyncIterator[bytes]:
        yield b"event: output\rdata: {}\r"
        await Pending()

    assert step(iter_frames(source())) == "waiting for bytes"
