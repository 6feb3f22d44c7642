"""The addresses that spans are posted to."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from lobu_provider.config.faults import shown
from lobu_provider.errors import config_error

_PATH: Final = "/v1/traces"

_INSTEAD: Final = " For a backend give it by otlpBackendHeaders: {Authorization: {env: NAME}}."


def otlp_endpoint(given: str, key: str = "otlpEndpoint") -> str:
    """Return the address; one without a path gets OTLP's own.

    Args:
        given: as the config writes it.
        key: what the config calls it.

    Raises:
        ConfigError: not an http(s) URL, or credentials in it.
    """
    text = given.strip()
    if "@" in text:  # before anything quotes it
        raise config_error(
            f"config.{key}: the URL holds '@', so a user name or password.{_INSTEAD}"
        )
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    plain = text.isprintable() and " " not in text
    if not usable or not plain or parts.scheme.lower() not in ("http", "https"):
        raise config_error(
            f"config.{key}: expected http://HOST:PORT/v1/traces; got {shown(given)}."
        )
    return parts._replace(path=_PATH).geturl() if parts.path in ("", "/") else text
