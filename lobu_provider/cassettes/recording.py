"""RecordingHttp: sends what the client sends, and notes what comes back on a tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Final
from urllib.parse import unquote, urlsplit

from lobu_provider.cassettes.network_faults import told
from lobu_provider.cassettes.tape import Tape, TapedReply, TapedRequest
from lobu_provider.http_exchange import Http, Reply
from lobu_provider.http_replies import retry_after_s


class RecordingHttp:
    """Another :class:`Http` with a tape that runs.

    Args:
        http: sends the requests.
        base_url: of the gateway; the tape does not hold it.
        tape: of the whole call; an attempt after this one goes on with it.
    """

    def __init__(self, http: Http, base_url: str, tape: Tape) -> None:
        self._http = http
        self._base_url = base_url
        self._tape = tape

    async def __aenter__(self) -> RecordingHttp:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._http.__aexit__(*exc)

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: str | None = None,
        silence_s: float | None = None,
    ) -> Reply:
        """Send a request; see :meth:`lobu_provider.http_exchange.Http.send`."""
        path = unquote(url.removeprefix(self._base_url))
        request = self._tape.begin(method, path, content)
        try:
            reply = await self._http.send(
                method, url, headers=headers, content=content, silence_s=silence_s
            )
        except Exception as exc:
            request.failed, request.failed_ms = told(exc), self._tape.now_ms()
            raise
        kind = reply.headers.get("content-type", "")
        is_stream = reply.status == 200 and "text/event-stream" in kind.lower()
        request.reply = TapedReply(
            reply.status, _kept(reply.headers), is_stream, self._tape.now_ms()
        )
        body = _Stream if is_stream else _Body
        return replace(reply, body=body(reply.body, request, request.reply, self._tape))


_DECADES_S: Final = 999_999_999.0
"""More than a number in that header may say."""


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that the client looks at; others may hold secrets."""
    kept = {}
    for name in ("content-type", "content-encoding"):
        if headers.get(name):
            kept[name] = headers[name]
    wait_s = retry_after_s(headers.get("retry-after"), datetime.now(tz=timezone.utc))
    if wait_s is not None:
        # A date would mean another wait whenever it is replayed, but for one that is decades away.
        kept["retry-after"] = f"{wait_s:.3f}" if wait_s < _DECADES_S else headers["retry-after"]
    location = headers.get("location")
    if location is not None:
        kept["location"] = _without_query(location)
    return kept


def _without_query(location: str) -> str:
    """What follows the path of a redirect may be a login's one-time code."""
    try:
        target = urlsplit(location)
        origin = f"{target.scheme}://{target.hostname}" if target.hostname else ""
    except ValueError:
        return location.partition("?")[0]
    return origin + target.path


class _Body:
    """The body of a plain reply."""

    def __init__(
        self, body: AsyncIterator[bytes], request: TapedRequest, reply: TapedReply, tape: Tape
    ) -> None:
        self._body = body
        self._request = request
        self._reply = reply
        self._tape = tape

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._body.__anext__()
        except StopAsyncIteration:
            self._ended(None)
            raise
        except Exception as exc:
            self._ended(exc)
            raise
        self._came(chunk)
        return chunk

    def _came(self, chunk: bytes) -> None:
        self._tape.add_to_body(self._reply, chunk)

    def _ended(self, exc: Exception | None) -> None:
        self._reply.ended_ms = self._tape.now_ms()
        self._reply.broke = None if exc is None else told(exc)


class _Stream(_Body):
    """The body of an event stream."""

    def _came(self, chunk: bytes) -> None:
        self._tape.add_to_stream(self._request.number, chunk)

    def _ended(self, exc: Exception | None) -> None:
        self._tape.end_stream(self._request.number, None if exc is None else told(exc))
