"""Bring every spelling of a gateway's address to the one base URL that the Agent API lives under.

The gateway serves the Agent API at ``{origin}[/prefix]/lobu/api/v1/agents``; people write the
origin, the ``/lobu`` base, or the whole API path, with and without a trailing slash.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

from lobu_provider.errors import ConfigError, config_error

DEFAULT_GATEWAY: Final = "http://localhost:8787"
SCRIPT_SCHEME: Final = "script:"

_BASE: Final = "/lobu"
_API_PATHS: Final = ("/api/v1/agents", "/api/v1")


def is_script(gateway: str) -> bool:
    """Return whether ``gateway`` names a script of the embedded gateway, not an address."""
    return gateway.startswith(SCRIPT_SCHEME)


def normalise_gateway(gateway: str, *, source: str = "config.gateway") -> str:
    """Return the base URL without a trailing slash, e.g. ``http://localhost:8787/lobu``.

    A longer prefix from a reverse proxy is kept; a query or fragment is dropped.

    Args:
        gateway: any spelling of the address.
        source: where it was written, for messages.

    Raises:
        ConfigError: not an http(s) URL, no host, an impossible port, or credentials in the URL.
    """
    text = gateway.strip()
    if "{{" in text:
        raise _fault(
            source,
            gateway,
            "holds a template that promptfoo did not fill in; "
            "set the environment variable that it names, or write the address",
        )
    parts = _split(source, text)
    port = f":{parts.port}" if parts.port is not None else ""
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme.lower()}://{host}{port}{_base_path(parts.path)}"


def _split(source: str, text: str) -> SplitResult:
    if "@" in text:  # before anything quotes it
        raise config_error(
            f"{source}: the URL holds '@', so a user name or password, which would take the "
            "place of the Lobu token. Remove it; for a proxy that needs its own credentials use "
            "'headers'."
        )
    try:
        parts = urlsplit(text)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:  # its text repeats what it read
        raise _fault(source, text, "is not a URL; expected http://HOST:PORT") from None
    if parts.scheme.lower() not in ("http", "https"):
        guess = ""
        if "://" not in text and text[:1] != "/" and not text.lower().startswith(SCRIPT_SCHEME):
            guess = f", for example 'http://{_shown(text)}'"
        raise _fault(source, text, f"expected a URL that starts with http:// or https://{guess}")
    if not parts.hostname or not port_ok or not text.isprintable() or " " in text:
        raise _fault(source, text, "expected http://HOST:PORT")
    return parts


def _base_path(path: str) -> str:
    path = path.rstrip("/")
    if path.endswith(_BASE):
        return path
    before, found, _ = path.partition(f"{_BASE}/api/v1")
    if found:
        return before + _BASE
    for api_path in _API_PATHS:
        if path.endswith(api_path):
            path = path[: -len(api_path)]
            break
    return path + _BASE


def _fault(source: str, gateway: str, why: str) -> ConfigError:
    return config_error(f"{source}: {why}; got {_shown(gateway)!r}.")


def _shown(gateway: str) -> str:
    """The address without query and fragment, which may hold a key."""
    return re.split(r"[?#]", gateway, maxsplit=1)[0][:200]
