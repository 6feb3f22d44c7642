"""The HTTP layer under the gateway client: which library sends, through what, trusting whom."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import anyio
import httpx

from lobu_provider.errors import config_error
from lobu_provider.http_exchange import Http, Reply, RequestLimits
from lobu_provider.http_over_httpx import HttpxHttp
from lobu_provider.http_replies import HttpReply, retry_after_s

if TYPE_CHECKING:
    from lobu_provider.http_over_aiohttp import AiohttpPool

MAX_REPLY_BYTES: Final = 1_000_000

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def open_http(
    base_url: str,
    headers: Mapping[str, str],
    limits: RequestLimits,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    pool: AiohttpPool | None = None,
    ca_file: Path | None = None,
) -> Http:
    """Return what sends the requests of one conversation.

    Args:
        base_url: of the gateway.
        headers: sent with every request.
        limits: for the connection, and for each wait.
        transport: replaces the network.
        pool: used where no proxy can stand before the gateway.
        ca_file: certificates in PEM form that may vouch for the gateway, beside the usual ones.

    Raises:
        ConfigError: the environment's proxy or certificate settings cannot be used.
    """
    url = urlsplit(base_url)
    is_tls = url.scheme == "https" and transport is None
    certificates = _certificates(ca_file) if is_tls else None
    # A proxy from the environment is not for this machine's own gateway.
    trust_env = url.hostname not in _LOOPBACK
    if pool is not None and transport is None and not (trust_env and _names_proxy(url.scheme)):
        return pool.http(headers, limits, certificates=certificates)
    return HttpxHttp(
        headers, limits, transport=transport, certificates=certificates, trust_env=trust_env
    )


def _names_proxy(scheme: str) -> bool:
    return bool({scheme, "all"} & getproxies().keys())


@lru_cache(maxsize=8)
def _certificates(ca_file: Path | None) -> ssl.SSLContext:
    try:
        context = httpx.create_ssl_context()
    except (ValueError, OSError) as exc:
        raise config_error(
            "The certificates that the environment names (SSL_CERT_FILE, SSL_CERT_DIR) cannot be "
            f"used: {exc}"
        ) from exc
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=ca_file)
        except (ssl.SSLError, OSError) as exc:
            raise config_error(
                f"config.caFile: {ca_file} cannot be used: {exc}. Expected a file with "
                "certificates in PEM form (-----BEGIN CERTIFICATE-----)."
            ) from exc
    return context


async def read(
    reply: Reply, secrets: Iterable[str] = (), *, limit_s: float | None = None
) -> HttpReply:
    """Read a plain reply to its end, or to 1 MB: no reply of the gateway comes near.

    Args:
        reply: its head has come.
        secrets: are kept out of whatever quotes the reply.
        limit_s: a body that has not ended by then is done without: its last words may be half a
            secret.
    """
    if limit_s is None:  # most have their limit around them, and each costs time
        body = await _body(reply)
    else:
        body = b""
        with anyio.move_on_after(limit_s):
            body = await _body(reply)
    asked = reply.headers.get("retry-after")
    return HttpReply(
        method=reply.method,
        url=reply.url,
        status=reply.status,
        body=body.decode("utf-8-sig", "replace"),
        location=reply.headers.get("location"),
        retry_after_s=None
        if asked is None
        else retry_after_s(asked, datetime.now(tz=timezone.utc)),
        secrets=tuple(secrets),
    )


async def _body(reply: Reply) -> bytes:
    body = bytearray()
    async for chunk in reply.body:
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            break
    return bytes(body[:MAX_REPLY_BYTES])
