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

import httpx
from httpx_sse import EventSource

from lobu_provider.events import Frame


async def iter_frames(chunks: AsyncIterable[bytes]) -> AsyncGenerator[Frame, None]:
    """Yield each complete event of a byte stream, however it is cut into chunks.

    A frame that the end of the stream cuts off is not an event. Bytes that are not UTF-8 become
    U+FFFD.
    """
    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=_LineFeeds(chunks)
    )
    events = EventSource(response).aiter_sse()
    try:
        async for event in events:
            if event.data or event.event != "message":
                yield Frame(event=event.event, data=event.data, id=event.id or None)
    finally:
        await events.aclose()


class _LineFeeds(httpx.AsyncByteStream):
    """The same bytes with every line end as LF and without a byte order mark."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        start: bytes | None = b""  # held back while it may still be part of a byte order mark
        after_cr = False
        async for chunk in self._chunks:
            if start is not None:
                chunk = start + chunk
                if codecs.BOM_UTF8.startswith(chunk) and chunk != codecs.BOM_UTF8:
                    start = chunk
                    continue
                chunk, start = chunk.removeprefix(codecs.BOM_UTF8), None
            if not chunk:
                continue
            if after_cr and chunk.startswith(b"\n"):
                chunk, after_cr = chunk[1:], False
            if chunk:
                after_cr = chunk.endswith(b"\r")
                yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
