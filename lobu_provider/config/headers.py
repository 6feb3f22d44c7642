"""Check the extra request headers, and read those that come from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lobu_provider.config.connection_keys import HeaderFromEnv
from lobu_provider.config.environment import Environment, quoted_name
from lobu_provider.config.faults import shown
from lobu_provider.errors import config_error

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_OUR_HEADERS: Final = frozenset(
    {"accept", "connection", "content-length", "content-type", "transfer-encoding"}
)
"""With another content type a gateway ignores the body and answers for its default agent."""

_SECRET_NAME: Final = re.compile(
    r"auth|code|cookie|credential|key|pass|phrase|pin|secret|session|signature|token",
    re.IGNORECASE,
)
_PLAIN_WORD: Final = re.compile(r"[A-Za-z]{1,20}([ ._/-][A-Za-z]{1,20})*")
"""A header such as ``X-Env: production`` is no secret: masking it would change answers."""


def read_headers(
    given: Mapping[str, str | HeaderFromEnv], env: Environment, key: str = "headers"
) -> dict[str, str]:
    """Return names and values as they are sent.

    Args:
        given: as the config writes them.
        env: where ``{env: NAME}`` looks.
        key: what the config calls them.

    Raises:
        ConfigError: no header can be called this or hold this, the header is one of ours, or the
            variable is not set. The message never holds a value.
    """
    headers: dict[str, str] = {}
    for name, value in given.items():
        if key == "headers" and name.strip().lower() == "authorization":
            raise config_error(
                "config.headers.Authorization: the Lobu token is sent in this header. "
                "Give the token by LOBU_TOKEN, tokenEnv, tokenFile or tokenCommand."
            )
        if not _HEADER_NAME.fullmatch(name):
            raise config_error(f"config.{key}: {shown(name)} is not a header name.")
        if name.lower() in _OUR_HEADERS:
            raise config_error(f"config.{key}.{name}: the provider sets this header itself.")
        headers[name] = header_value(f"{key}.{name}", _resolve(f"{key}.{name}", value, env))
    return headers


def _resolve(place: str, value: str | HeaderFromEnv, env: Environment) -> str:
    if isinstance(value, str):
        return value.strip()
    found = env.get(value.env)
    if found is None:
        raise config_error(
            f"config.{place}: the environment variable {quoted_name(value.env)} is not set."
        )
    return found


def header_value(key: str, value: str) -> str:
    """Return the value itself.

    Raises:
        ConfigError: a header cannot hold it. The message does not either.
    """
    if not (value.isascii() and value.isprintable()):
        raise config_error(
            f"config.{key}: a header can hold only printable ASCII characters on one line; "
            "the value (not shown) holds others."
        )
    return value


def secret_values(
    given: Mapping[str, str | HeaderFromEnv], headers: Mapping[str, str]
) -> list[str]:
    """Return the header values that are secrets: all but plain words in plain headers."""
    return [
        value
        for name, value in headers.items()
        if isinstance(given.get(name), HeaderFromEnv)
        or _SECRET_NAME.search(name)
        or not _PLAIN_WORD.fullmatch(value)
    ]
