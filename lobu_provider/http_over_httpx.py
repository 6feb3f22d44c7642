"""HTTP by httpx: the default, and the way through proxies."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import httpx

from lobu_provider.errors import config_error
from lobu_provider.http_cookies import Cookies, keep_none
from lobu_provider.http_exchange import ENCODINGS, Reply, RequestLimits, unreadable


class HttpxHttp:
    """One ``httpx.AsyncClient``.

    Args:
        headers: sent with every request.
        limits: for the connection, and for each wait.
        transport: replaces the network.
        certificates: who may vouch for the gateway; ``None`` for plain HTTP.
        trust_env: whether the environment may name a proxy.

    Raises:
        ConfigError: the environment's proxy or certificate settings cannot be used.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        limits: RequestLimits,
        *,
        transport: httpx.AsyncBaseTransport | None,
        certificates: ssl.SSLContext | None,
        trust_env: bool,
    ) -> None:
        self._limits = limits
        self._headers = dict(headers)
        self._cookies = Cookies()
        try:
            self._client = httpx.AsyncClient(
                transport=transport,
                headers={"Accept-Encoding": ENCODINGS},  # as many as it can read, unless told
                # Plain HTTP needs no certificates; building the context takes 23 ms.
                verify=certificates or False,
                trust_env=trust_env,
                follow_redirects=False,
            )
        except (ValueError, OSError, ImportError, httpx.InvalidURL) as exc:
            # Not in the exception's words: they may quote the proxy's password.
            raise config_error(
                "The proxy settings of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) cannot "
                f"be used ({type(exc).__name__}). Expected URLs such as http://proxy:3128; special "
                "characters of a user or password in them are percent-encoded."
            ) from exc
        keep_none(self._client)

    async def __aenter__(self) -> HttpxHttp:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.aclose()

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
        timeout = httpx.Timeout(silence_s, connect=self._limits.connect_s)
        sent = self._cookies.added_to({**self._headers, **headers}, method, url)
        if not all(value.isascii() for value in sent.values()):
            raise httpx.LocalProtocolError("Illegal header value")  # as for other characters
        request = self._client.build_request(
            method, url, headers=sent, content=content, timeout=timeout
        )
        response = await self._client.send(request, stream=True)
        why = unreadable(response.headers.get_list("Content-Encoding"))
        if why is not None:
            await response.aclose()
            raise httpx.DecodingError(why)
        if "Set-Cookie" in response.headers:
            self._cookies.take(method, url, response.headers.raw)
        return Reply(
            method,
            str(response.request.url),
            response.status_code,
            response.headers,
            response.aiter_bytes(),
            response.aclose,
        )
