"""HTTP by aiohttp, for many calls in one process: its parser is C and its pool a dictionary.

Per request httpx takes three times as long, most of it in Python. aiohttp is an optional package,
so this file is imported only where a pool is wanted.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Final

import aiohttp
import httpx
from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError
from yarl import URL

from lobu_provider.http_cookies import Cookies
from lobu_provider.http_exchange import ENCODINGS, Reply, RequestLimits, unreadable

KEEP_S: Final = 4.0
"""How long an idle connection is kept: less than the 5 s of a Node server, so that no message is
written to one that is just being closed."""

MAX_HEADER_BYTES: Final = 65536


class AiohttpPool:
    """Connections shared by all conversations of an event loop; an async context manager."""

    async def __aenter__(self) -> AiohttpPool:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_S),
            headers={"Accept-Encoding": ENCODINGS},
            cookie_jar=aiohttp.DummyCookieJar(),  # cookies belong to a conversation
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    def http(
        self,
        headers: Mapping[str, str],
        limits: RequestLimits,
        *,
        certificates: ssl.SSLContext | None,
    ) -> AiohttpHttp:
        """Return what sends the requests of one conversation over this pool."""
        return AiohttpHttp(self._session, headers, limits, certificates=certificates)


class AiohttpHttp:
    """The requests of one conversation; made by :meth:`AiohttpPool.http`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        headers: Mapping[str, str],
        limits: RequestLimits,
        *,
        certificates: ssl.SSLContext | None,
    ) -> None:
        self._session = session
        self._headers = {"User-Agent": "lobu-provider", **headers}
        self._limits = limits
        self._certificates: ssl.SSLContext | bool = certificates or True
        self._cookies = Cookies()

    async def __aenter__(self) -> AiohttpHttp:
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Nothing to free: the connections are the pool's."""

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
        sent = self._cookies.added_to({**self._headers, **headers}, method, url)
        _check(sent)
        with _in_httpx_words():
            response = await self._session.request(
                method,
                URL(url, encoded=True),
                headers=sent,
                data=None if content is None else content.encode(),
                allow_redirects=False,
                ssl=self._certificates,
                timeout=aiohttp.ClientTimeout(
                    total=None, connect=self._limits.connect_s, sock_read=silence_s
                ),
            )
        why = unreadable(response.headers.getall("Content-Encoding", ()))
        if why is not None:
            response.close()
            raise httpx.DecodingError(why)
        _end_with_its_connection(response)
        if "Set-Cookie" in response.headers:
            self._cookies.take(method, url, response.raw_headers)

        async def aclose() -> None:
            response.close()  # of a reply read to its end the connection is back in the pool

        return Reply(method, url, response.status, response.headers, _body(response), aclose)


def _end_with_its_connection(response: aiohttp.ClientResponse) -> None:
    """Have a body fail when its connection is closed before its end.

    aiohttp tells nobody of a chunk that is garbage, closes the connection and stops its clocks: who
    reads the body would wait for ever.
    """
    protocol = response.connection.protocol if response.connection is not None else None
    closed = protocol.closed if protocol is not None else None
    body = response.content

    def fail(closed: asyncio.Future[None]) -> None:
        reason = None if closed.cancelled() else closed.exception()
        if not body.is_eof() and body.exception() is None:
            why = f"the connection was closed before its end: {reason or 'not understood'}"
            body.set_exception(aiohttp.ClientPayloadError(why))

    def forget() -> None:
        """The connection may live on."""
        if closed is not None:
            closed.remove_done_callback(fail)

    if closed is not None:
        closed.remove_done_callback(_heed)
        closed.add_done_callback(_heed)
        closed.add_done_callback(fail)
        body.on_eof(forget)


def _heed(closed: asyncio.Future[None]) -> None:
    """Ask why a connection ended, as asyncio complains of answers that nobody asks for."""
    if not closed.cancelled():
        closed.exception()


async def _body(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    with _in_httpx_words():
        async for chunk in response.content.iter_any():
            yield chunk


def _check(headers: Mapping[str, str]) -> None:
    for value in headers.values():
        if not (value.isascii() and value.isprintable()):
            raise httpx.LocalProtocolError("Illegal header value")


@contextmanager
def _in_httpx_words() -> Iterator[None]:
    """Turn aiohttp's errors into httpx's, whose names the rest of the client knows."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as exc:
        raise httpx.ConnectTimeout(str(exc)) from exc
    except aiohttp.ServerTimeoutError as exc:
        raise httpx.ReadTimeout(str(exc)) from exc
    except aiohttp.ClientConnectorError as exc:
        raise httpx.ConnectError(str(exc)) from exc
    except aiohttp.InvalidURL as exc:
        raise httpx.InvalidURL(str(exc)) from exc
    except aiohttp.ServerDisconnectedError as exc:
        raise httpx.RemoteProtocolError("the server closed it without a reply") from exc
    except (aiohttp.ClientOSError, ConnectionError) as exc:
        raise httpx.ReadError(str(exc)) from exc
    except (aiohttp.ClientError, HttpProcessingError) as exc:
        raise _undecodable(exc) or httpx.RemoteProtocolError(str(exc)) from exc


def _undecodable(exc: BaseException) -> httpx.DecodingError | None:
    """For what aiohttp cannot decompress: for a package that it misses, in the words for httpx."""
    cause = exc.__cause__
    while cause is not None and not isinstance(cause, ContentEncodingError):
        cause = cause.__cause__
    if cause is None:
        return None
    named = re.search(r"\((br|zstd)\)", cause.message)
    return httpx.DecodingError(unreadable(named.groups() if named else ()) or cause.message)
