"""The address that spans are posted to."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from lobu_provider.config.faults import shown
from lobu_provider.errors import config_error

_PATH: Final = "/v1/traces"


def otlp_endpoint(given: str) -> str:
    """Return the address; one without a path gets OTLP's own.

    Raises:
        ConfigError: not an http(s) URL, or credentials in it.
    """
    text = given.strip()
    if "@" in text:  # before anything quotes it
        raise config_error("config.otlpEndpoint: the URL holds '@', so a user name or password.")
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    plain = text.isprintable() and " " not in text
    if not usable or not plain or parts.scheme.lower() not in ("http", "https"):
        raise config_error(
            f"config.otlpEndpoint: expected http://HOST:PORT/v1/traces; got {shown(given)}."
        )
    return parts._replace(path=_PATH).geturl() if parts.path in ("", "/") else text
