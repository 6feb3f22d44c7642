"""When a tool's name in a config means a tool that was called.

Gateways write one tool in several ways: ``lookup_order``, ``mcp__shop__lookup_order``,
``lobu_lookup_order``. Case, separators and those prefixes do not count. Where both names carry a
server it must be the same one, however it is set off: ``shop/lookup_order`` is
``mcp__shop__lookup_order`` too.
"""

from __future__ import annotations

import re
from typing import Final

_SEPARATORS: Final = re.compile(r"[-_. /:]+")


def same_name(wanted: str, called: str, *, exact: bool = False) -> bool:
    """Return whether two names mean one tool.

    Args:
        wanted: as the config writes it.
        called: as the gateway sent it.
        exact: compare them character by character.
    """
    if exact:
        return wanted == called
    if _whole(wanted) == _whole(called):
        return True
    (server, tool), (other_server, other_tool) = _parts(wanted), _parts(called)
    return tool == other_tool and (not server or not other_server or server == other_server)


def bare_name(name: str) -> str:
    """Return a name without the prefixes of server and gateway."""
    tool = name.split("__")[-1] or name
    rest = re.sub(r"^lobu[-_]", "", tool, flags=re.IGNORECASE)
    return rest or tool


def _whole(name: str) -> str:
    """Server and tool together, without case and separators."""
    return _plain(re.sub(r"^mcp[-_. /:]+", "", name, flags=re.IGNORECASE))


def _parts(name: str) -> tuple[str, str]:
    """The server, if the name has one, and the tool, both without case and separators."""
    parts = name.split("__")
    server = parts[-2] if len(parts) > 1 and parts[-1] else ""
    return ("" if server.lower() == "mcp" else _plain(server)), _plain(bare_name(name))


def _plain(text: str) -> str:
    return _SEPARATORS.sub("", text.lower()) or text
