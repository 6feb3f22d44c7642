"""The same events in every framing that a gateway or a proxy may write them in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from lobu_provider.events import Frame
from lobu_provider.sse import iter_frames


def frames_of(chunks: Iterable[bytes]) -> list[Frame]:
    """Parse a whole body. Needs no event loop: nothing in it waits."""

    async def source() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[Frame]:
        return [frame async for frame in iter_frames(source())]

    running = collect()
    try:
        running.send(None)
    except StopIteration as end:
        result: list[Frame] = end.value
        return result
    raise AssertionError("the parser waited although the source never does")


def one_by_one(data: bytes) -> Iterable[bytes]:
    return (data[i : i + 1] for i in range(len(data)))


def plain_frames(data: bytes) -> list[Frame]:
    """Read the recordings' own framing by plain text methods: ``event:``, ``data:``, blank."""
    found = []
    for block in data.decode("utf-8").split("\n\n")[:-1]:
        name, text = block.split("\n")
        found.append(Frame(name.removeprefix("event: "), text.removeprefix("data: ")))
    return found


def _lines(end: str, *, space: str = " ") -> Callable[[Frame], str]:
    return lambda frame: f"event:{space}{frame.event}{end}data:{space}{frame.data}{end}{end}"


def _with_comments(frame: Frame) -> str:
    return (
        f": heartbeat\n\n:\nevent: {frame.event}\n: in between\ndata: {frame.data}\n"
        ": before the end\n\n: after\n\n\n"
    )


def _other_fields(frame: Frame) -> str:
    return f"retry: 3000\ndata: {frame.data}\nwhatever: 1\nevent\nevent: {frame.event}\nnoise\n\n"


REFRAMED: Final[dict[str, Callable[[Frame], str]]] = {
    "lf": _lines("\n"),
    "crlf": _lines("\r\n"),
    "cr": _lines("\r"),
    "no space": _lines("\n", space=""),
    "crlf, no space": _lines("\r\n", space=""),
    "comments": _with_comments,
    "comments, crlf": lambda frame: _with_comments(frame).replace("\n", "\r\n"),
    "comments, cr": lambda frame: _with_comments(frame).replace("\n", "\r"),
    "other fields": _other_fields,
}
"""How to write one frame so that the same frame is read."""


def reframed(frames: Iterable[Frame], name: str) -> bytes:
    return "".join(map(REFRAMED[name], frames)).encode()


def over_several_lines(frame: Frame, end: str = "\n") -> str:
    """The same JSON, laid out over several ``data:`` lines."""
    lines = json.dumps(json.loads(frame.data), indent=1, ensure_ascii=False).split("\n")
    data = "".join(f"data: {line}{end}" for line in lines)
    return f"event: {frame.event}{end}{data}{end}"
