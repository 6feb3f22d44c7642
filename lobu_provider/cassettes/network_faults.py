"""What a broken connection raised, as JSON and back: class, words, and what lay under it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping
from typing import Any, Final

import httpx

_NAMES: Final = (
    "ConnectError",
    "ConnectTimeout",
    "DecodingError",
    "LocalProtocolError",
    "PoolTimeout",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "TooManyRedirects",
    "UnsupportedProtocol",
    "WriteError",
    "WriteTimeout",
    "CloseError",
    "InvalidURL",
)
_CLASSES: Final[dict[str, type[Exception]]] = {name: getattr(httpx, name) for name in _NAMES}

_UNKNOWN: Final = "RemoteProtocolError"


def told(exc: Exception) -> dict[str, Any]:
    """Return an exception of :meth:`lobu_provider.http_exchange.Http.send` as JSON."""
    found = next((kind.__name__ for kind in type(exc).__mro__ if kind.__name__ in _CLASSES), None)
    # The words of a LocalProtocolError repeat the header that cannot be sent.
    words = "" if found == "LocalProtocolError" else str(exc)
    causes = list(_below(exc))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        under: dict[str, Any] = {"cause": "name not resolved"}
    else:
        numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
        under = {"cause": errno.errorcode.get(numbers[0], str(numbers[0]))} if numbers else {}
    return {"error": found or _UNKNOWN, "words": words, **under}


def raised(told: Mapping[str, Any]) -> Exception:
    """Return the exception that :func:`told` describes."""
    exc = _CLASSES.get(str(told.get("error")), httpx.RemoteProtocolError)(
        str(told.get("words", ""))
    )
    cause = told.get("cause")
    if cause == "name not resolved":
        exc.__cause__ = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    elif cause is not None:
        exc.__cause__ = OSError(getattr(errno, str(cause), 0), str(cause))
    return exc


def _below(exc: BaseException) -> list[BaseException]:
    """Return what lies under an exception, all branches of a group included."""
    found: list[BaseException] = [exc]
    for one in found:
        under = [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        found += [
            cause for cause in under if isinstance(cause, BaseException) and cause not in found
        ]
    return found
