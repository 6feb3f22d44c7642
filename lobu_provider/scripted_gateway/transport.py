"""The scripted gateway as an httpx transport: no socket, and bodies that really stream.

The only file of this package that imports httpx. ``httpx.ASGITransport`` would not do: it hands
over a body only when it is complete, and an event stream never is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

import anyio
import httpx

from lobu_provider.scripted_gateway.gateway import ScriptedGateway
from lobu_provider.scripted_gateway.replies import Reply
from lobu_provider.scripted_gateway.streams import ConnectionBroken, EventStream

T = TypeVar("T")


class ScriptedTransport(httpx.AsyncBaseTransport):
    """Answers every request from ``gateway``, whatever the host.

    As over a socket, a connection that the script breaks raises ``httpx.RemoteProtocolError``
    and a silence longer than the client's read timeout raises ``httpx.ReadTimeout``. Closing the
    transport closes its streams.
    """

    def __init__(self, gateway: ScriptedGateway) -> None:
        self.gateway = gateway
        self._bodies: set[_StreamedBody] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the gateway's answer."""
        content = await request.aread()
        path = request.url.raw_path.decode("ascii")
        silence_s = request.extensions.get("timeout", {}).get("read")

        async def ask() -> Reply | EventStream:
            answer = await self.gateway.handle(request.method, path, request.headers, content)
            return answer if isinstance(answer, Reply) else answer.events

        try:
            answer = await _in_time(ask, silence_s, request)
        except ConnectionBroken as error:
            text = "Server disconnected without sending a response."
            raise httpx.RemoteProtocolError(text, request=request) from error
        if isinstance(answer, Reply):
            headers = {**answer.headers, "content-length": str(len(answer.body))}
            return httpx.Response(answer.status, headers=headers, content=answer.body)
        body = _StreamedBody(answer, silence_s, request, self._bodies)
        return httpx.Response(200, headers=_STREAM_HEADERS, stream=body)

    async def aclose(self) -> None:
        """Close every stream still open."""
        for body in list(self._bodies):
            await body.aclose()


_STREAM_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


class _StreamedBody(httpx.AsyncByteStream):
    """The body of an events response."""

    def __init__(
        self,
        events: EventStream,
        silence_s: float | None,
        request: httpx.Request,
        siblings: set[_StreamedBody],
    ) -> None:
        self._events = events
        self._silence_s = silence_s
        self._request = request
        self._siblings = siblings
        siblings.add(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while True:
                try:
                    chunk = await _in_time(self._events.__anext__, self._silence_s, self._request)
                except StopAsyncIteration:
                    return
                yield chunk
        except ConnectionBroken as error:
            text = "peer closed connection without sending complete message body"
            raise httpx.RemoteProtocolError(text, request=self._request) from error
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Free the stream's place in its session."""
        self._events.close()
        self._siblings.discard(self)


async def _in_time(
    call: Callable[[], Awaitable[T]], silence_s: float | None, request: httpx.Request
) -> T:
    """Await ``call()``; raise what httpx raises when a server stays silent too long."""
    try:
        with anyio.fail_after(silence_s):
            return await call()
    except TimeoutError as error:
        raise httpx.ReadTimeout("", request=request) from error
