"""What goes wrong under a request, as one of our errors: the only place that knows both."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import httpx

from lobu_provider.errors import ConfigError, Failure, Phase, config_error, error_for, failure
from lobu_provider.http_exchange import Reply


async def chunks(reply: Reply, on_bytes: Callable[[], None] | None) -> AsyncIterator[bytes]:
    """The bytes of an event stream; a broken or silent one raises ``stream_lost``."""
    try:
        async for chunk in reply.body:
            if on_bytes is not None:
                on_bytes()
            yield chunk
    except httpx.TimeoutException as exc:
        raise error_for(_stream_lost("fell silent: not even a heartbeat came")) from exc
    except httpx.DecodingError as exc:  # it would be no better the next time
        broken = _stream_lost(f"cannot be decompressed: {_reason(exc)}")
        raise error_for(replace(broken, repeatable=False)) from exc
    except httpx.HTTPError as exc:
        raise error_for(_stream_lost(f"broke: {_reason(exc)}")) from exc


def _stream_lost(what: str) -> Failure:
    return failure(
        "stream_lost",
        f"The event stream {what}. The gateway may have been restarted, or a proxy cut the "
        "connection; the turn may still be running there.",
        phase="turn",
        repeatable=True,
    )


def _untrusted(url: str, phase: Phase, reason: str) -> Failure:
    return failure(
        "gateway",
        f"The certificate of the gateway at {url} is not trusted: {reason}. If a private authority "
        "signed it, name that authority's PEM file in config.caFile (or SSL_CERT_FILE).",
        phase=phase,
        error_class="config",
        retryable=False,
    )


def _unsendable(method: str, url: str) -> ConfigError:
    return config_error(
        f"{method} {url} cannot be sent: the token, the session's token that the gateway gave, or "
        "a header holds characters that HTTP does not allow (not shown), such as a line end."
    )


@contextmanager
def mapped_errors(method: str, url: str, phase: Phase) -> Iterator[None]:
    """Turn what httpx raises into our errors."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as exc:
        if "CERTIFICATE_VERIFY_FAILED" in str(exc):
            raise error_for(_untrusted(url, phase, str(exc).strip())) from exc
        raise error_for(
            failure(
                "gateway",
                f"Cannot reach the gateway at {url}: {_connect_reason(exc)}. Is it running? "
                "Start it, or correct 'gateway' in the config / LOBU_GATEWAY.",
                phase=phase,
                repeatable=True,
                is_unsent=True,
            )
        ) from exc
    except (httpx.TimeoutException, TimeoutError) as exc:
        raise error_for(
            failure(
                "timeout",
                f"The gateway did not answer {method} {url} in time. "
                "It accepts connections; see its log for what holds it up.",
                phase=phase,
                is_unclear=True,
            )
        ) from exc
    except httpx.LocalProtocolError as exc:  # its text repeats the header's value
        raise _unsendable(method, url) from exc
    except httpx.DecodingError as exc:
        raise error_for(
            failure(
                "gateway",
                f"The reply to {method} {url} cannot be read: {_reason(exc)}. "
                "A proxy in between may compress it; switch that off for the Agent API.",
                phase=phase,
                is_unclear=True,
            )
        ) from exc
    except httpx.TransportError as exc:
        raise error_for(
            failure(
                "gateway",
                f"The connection broke during {method} {url}: {_reason(exc)}.",
                phase=phase,
                repeatable=True,
                is_unclear=True,
            )
        ) from exc
    except (httpx.InvalidURL, UnicodeError) as exc:
        raise config_error(f"The address {url} cannot be used: {exc}") from exc


def _connect_reason(exc: Exception) -> str:
    """In the words of the operating system: each library has others for it."""
    if isinstance(exc, httpx.ConnectTimeout):
        return "no connection in time"
    causes = list(_causes(exc))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "the host's name cannot be resolved"
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
    return os.strerror(numbers[0]) if numbers else _reason(exc)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """What lies under an exception, all branches of a group included."""
    waiting, seen = [exc], set()
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        below = [found.__cause__, found.__context__, *getattr(found, "exceptions", ())]
        waiting += [cause for cause in below if isinstance(cause, BaseException)]


def _reason(exc: Exception) -> str:
    """In the library's words, up to the bytes of a reply that it quotes: they may be secret."""
    words = _QUOTED.split(_AIOHTTP.sub("", str(exc)), maxsplit=1)[0].replace("\\n", " ")
    return " ".join(words.split()).rstrip(" :,(=-") or type(exc).__name__


_AIOHTTP: Final = re.compile(r"""^\d{3}, message=["']""")
"""What aiohttp puts before its words, which it quotes too."""

_QUOTED: Final = re.compile(r"""\b(?:bytearray|bytes|memoryview)\(|(?<!\w)b?\\*["']""")
"""What begins a quotation; within a word it is an apostrophe."""
