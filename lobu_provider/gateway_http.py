"""The HTTP layer under the gateway client: limits, the httpx client, and what its errors mean.

What httpx raises becomes one of our errors here and nowhere else.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import httpx

from lobu_provider.errors import Failure, Phase, config_error, error_for, failure
from lobu_provider.http_replies import HttpReply

MAX_REPLY_BYTES: Final = 1_000_000

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class RequestLimits:
    """How long one request may take, in seconds."""

    connect_s: float = 10.0
    request_s: float = 30.0
    """From the first byte sent to the last byte of a plain reply."""
    silence_s: float = 75.0
    """Nothing at all on the event stream: the gateway pings every 30 s, so two were missed."""
    delete_s: float = 3.0


def open_http(
    base_url: str,
    headers: Mapping[str, str],
    transport: httpx.AsyncBaseTransport | None,
    limits: RequestLimits,
) -> httpx.AsyncClient:
    """Return a client that follows no redirects and bounds every wait.

    Raises:
        ConfigError: the environment's proxy or certificate settings cannot be used.
    """
    url = urlsplit(base_url)
    try:
        return httpx.AsyncClient(
            headers=dict(headers),
            transport=transport,
            # Plain HTTP needs no certificates; building the context takes 23 ms.
            verify=_ssl_context() if url.scheme == "https" else False,
            # A proxy from the environment is not for this machine's own gateway.
            trust_env=url.hostname not in _LOOPBACK,
            follow_redirects=False,
            timeout=httpx.Timeout(limits.request_s, connect=limits.connect_s),
        )
    except (ValueError, OSError, ImportError, httpx.InvalidURL) as exc:
        raise config_error(
            "The proxy or certificate settings of the environment (HTTPS_PROXY, ALL_PROXY, "
            f"SSL_CERT_FILE, ...) cannot be used: {exc}"
        ) from exc


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


async def read(response: httpx.Response, secrets: Iterable[str] = ()) -> HttpReply:
    """Read a plain reply to its end, or to 1 MB: no reply of the gateway comes near.

    ``secrets`` are kept out of whatever quotes the reply.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            break
    return HttpReply(
        method=response.request.method,
        url=str(response.request.url),
        status=response.status_code,
        body=body[:MAX_REPLY_BYTES].decode("utf-8", "replace"),
        location=response.headers.get("location"),
        secrets=tuple(secrets),
    )


async def chunks(
    response: httpx.Response, on_bytes: Callable[[], None] | None
) -> AsyncIterator[bytes]:
    """The bytes of an event stream; a broken or silent one raises ``stream_lost``."""
    try:
        async for chunk in response.aiter_bytes():
            if on_bytes is not None:
                on_bytes()
            yield chunk
    except httpx.TimeoutException as exc:
        raise error_for(_stream_lost("fell silent: not even a heartbeat came")) from exc
    except httpx.HTTPError as exc:
        raise error_for(_stream_lost(f"broke: {_reason(exc)}")) from exc


def _stream_lost(what: str) -> Failure:
    return failure(
        "stream_lost",
        f"The event stream {what}. The gateway may have been restarted, or a proxy cut the "
        "connection; the turn may still be running there.",
        phase="turn",
    )


@contextmanager
def mapped_errors(method: str, url: str, phase: Phase) -> Iterator[None]:
    """Turn what httpx raises into our errors: the one place that knows both."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as exc:
        raise error_for(
            failure(
                "gateway",
                f"Cannot reach the gateway at {url}: {_reason(exc)}. Is it running? "
                "Start it, or correct 'gateway' in the config / LOBU_GATEWAY.",
                phase=phase,
            )
        ) from exc
    except (httpx.TimeoutException, TimeoutError) as exc:
        raise error_for(
            failure(
                "timeout",
                f"The gateway did not answer {method} {url} in time. "
                "It accepts connections; see its log for what holds it up.",
                phase=phase,
            )
        ) from exc
    except httpx.LocalProtocolError as exc:  # its text repeats the header's value
        raise config_error(
            f"{method} {url} cannot be sent: the token or a header holds characters that HTTP "
            "does not allow (not shown), such as a line end."
        ) from exc
    except httpx.DecodingError as exc:
        raise error_for(
            failure(
                "gateway",
                f"The reply to {method} {url} cannot be read: {_reason(exc)}. "
                "A proxy in between may compress it wrongly.",
                phase=phase,
            )
        ) from exc
    except httpx.TransportError as exc:
        raise error_for(
            failure(
                "gateway",
                f"The connection broke during {method} {url}: {_reason(exc)}.",
                phase=phase,
            )
        ) from exc
    except (httpx.InvalidURL, UnicodeError) as exc:
        raise config_error(f"The address {url} cannot be used: {exc}") from exc


def _reason(exc: Exception) -> str:
    return str(exc).strip() or type(exc).__name__
