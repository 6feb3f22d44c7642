"""What the gateway client asks of an HTTP library: a request, its limits, and its reply.

Two libraries fulfil it: httpx always, aiohttp where it is installed and many calls share a process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

ENCODINGS: Final = "gzip, deflate"
"""What both libraries can read in every installation, as a header asks for it."""

_COMPRESSIONS: Final = frozenset(
    {"gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress", "dcb", "dcz"}
)


@dataclass(frozen=True)
class RequestLimits:
    """How long one request may take, in seconds."""

    connect_s: float = 10.0
    request_s: float = 30.0
    """From the first byte sent to the last byte of a plain reply."""
    silence_s: float = 75.0
    """Nothing at all on the event stream: the gateway pings every 30 s, so two were missed."""
    delete_s: float = 3.0
    repeats: int = 2
    """How often a request is sent again where that is safe."""


@dataclass(frozen=True)
class Reply:
    """A reply whose head has arrived; the body is still to be read, and the reply to be closed."""

    method: str
    url: str
    status: int
    headers: Mapping[str, str]
    """Found by any spelling of a name."""
    body: AsyncIterator[bytes]
    """Decompressed. Raises what :meth:`Http.send` raises."""
    aclose: Callable[[], Awaitable[None]]


def unreadable(encodings: Iterable[str]) -> str | None:
    """Return why the body of a reply cannot be read; ``None`` if it can.

    ``identity`` means nothing, however often; what is no compression is taken for a slip.

    Args:
        encodings: the values of its ``Content-Encoding`` headers.
    """
    told = ", ".join(encodings).lower()
    words = told.replace(",", " ").split()
    if words in (["gzip"], ["deflate"]) or not _COMPRESSIONS.intersection(words):
        return None
    return f"it is compressed in a way that was not asked for, as {told}"


class Http(Protocol):
    """Sends the requests of one conversation; an async context manager.

    Follows no redirects. Cookies live as long as it: a load balancer may mark its replica by one.
    """

    async def __aenter__(self) -> Http:
        """Begin."""

    async def __aexit__(self, *exc: object) -> None:
        """Free the connections."""

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        content: str | None = None,
        silence_s: float | None = None,
    ) -> Reply:
        """Send a request; returns the reply as soon as its head is there.

        Args:
            method: in capitals.
            url: with everything percent-encoded.
            headers: beside those of the whole conversation.
            content: the body.
            silence_s: how long nothing may come; without it the caller's own limit has to do.

        Raises:
            httpx.TransportError: in httpx's words, whichever library it was.
            httpx.InvalidURL: the address cannot be used.
        """
