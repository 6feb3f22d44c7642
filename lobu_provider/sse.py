"""Bytes of a response body -> server-sent events. The only file that imports httpx_sse.

httpx_sse reads the fields; around it stand four things that it does not do:

- line ends are settled first, so that a frame that ends in a lone CR is dispatched at once instead
  of waiting for the next byte to rule out CRLF;
- a byte order mark at the start is dropped;
- an event without name and data is dropped: httpx_sse makes one of every comment once an ``id:``
  was seen. A name without data is passed on, though the standard drops it too: an ``error`` must
  not vanish;
- the content type is the caller's business: httpx_sse hides the status of an error reply.

Only CR, LF and CRLF end a line; U+2028 and U+0085 may stand raw in the data.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Final

import httpx
from httpx_sse import EventSource

from lobu_provider.errors import error_for, failure
from lobu_provider.events import Frame

MAX_EVENT_CHARACTERS: Final = 10_000_000
"""Of one event that has no end yet; a line without end is one too."""


async def iter_frames(chunks: AsyncIterable[bytes]) -> AsyncGenerator[Frame, None]:
    """Yield each complete event of a byte stream, however it is cut into chunks.

    A frame that the end of the stream cuts off is not an event. Bytes that are not UTF-8 become
    U+FFFD.

    Raises:
        InfrastructureError: an event is over :data:`MAX_EVENT_CHARACTERS`.
    """
    events = EventSource(_Text(chunks)).aiter_sse()
    try:
        async for event in events:
            if event.data or event.event != "message":
                yield Frame(event=event.event, data=event.data, id=event.id or None)
    finally:
        await events.aclose()


class _Text(httpx.Response):
    """The text of a stream with every line end as LF and without a byte order mark."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        super().__init__(200, headers={"content-type": "text/event-stream"})
        self._chunks = chunks

    async def aiter_text(self, chunk_size: int | None = None) -> AsyncIterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        after_cr = False
        size = _EventSize()
        async for chunk in self._chunks:
            text = decoder.decode(chunk)
            if after_cr and text:
                text, after_cr = text.removeprefix("\n"), False
            if text:
                after_cr = text.endswith("\r")
                text = text.replace("\r\n", "\n").replace("\r", "\n")
                size.add(text)
                yield text


class _EventSize:
    """Counts the characters of the event that is being read, its end not yet seen."""

    def __init__(self) -> None:
        self._characters = 0
        self._after_line_end = False

    def add(self, text: str) -> None:
        """Count ``text``, lines ended by LF.

        Raises:
            InfrastructureError: the event is over :data:`MAX_EVENT_CHARACTERS`.
        """
        end = text.rfind("\n\n")
        if end >= 0:
            self._characters = len(text) - end - 2
        elif self._after_line_end and text.startswith("\n"):
            self._characters = len(text) - 1
        else:
            self._characters += len(text)
        self._after_line_end = text.endswith("\n")
        if self._characters > MAX_EVENT_CHARACTERS:
            raise error_for(
                failure(
                    "gateway",
                    "The gateway sent an event of more than 10 million characters, which is not "
                    "read on. A tool result or an answer of that size does not belong in an event.",
                    phase="turn",
                    retryable=False,
                )
            )
