"""The cookies of one conversation: a load balancer or an auth proxy may set them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http.cookiejar import DefaultCookiePolicy

import httpx


def keep_none(client: httpx.AsyncClient) -> None:
    """Have a client leave cookies to others."""
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))


class Cookies:
    """Takes cookies from replies and gives them to requests, beside those of the user's config."""

    def __init__(self) -> None:
        self._jar: httpx.Cookies | None = None

    def take(self, method: str, url: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep what a reply sets, but for what no header can hold."""
        self._jar = self._jar or httpx.Cookies()
        request = httpx.Request(method, url)
        self._jar.extract_cookies(httpx.Response(200, headers=list(headers), request=request))
        for cookie in list(self._jar.jar):
            if not f"{cookie.name}{cookie.value}".isascii():
                self._jar.jar.clear(cookie.domain, cookie.path, cookie.name)

    def added_to(self, headers: Mapping[str, str], method: str, url: str) -> dict[str, str]:
        """Return ``headers`` with the cookies for ``url``.

        A ``Cookie`` that is there already, in any spelling, stays and stands first.
        """
        if self._jar is None:
            return dict(headers)
        request = httpx.Request(method, url)
        self._jar.set_cookie_header(request)
        kept = {name: value for name, value in headers.items() if name.lower() != "cookie"}
        given = [value for name, value in headers.items() if name.lower() == "cookie"]
        ours = request.headers.get("Cookie")
        together = "; ".join([*given, *([ours] if ours else [])])
        return {**kept, **({"Cookie": together} if together else {})}
