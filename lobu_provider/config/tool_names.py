"""Read ``config.stopOnTool`` and ``config.retrievalTools``: names of tools, never patterns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from lobu_provider.config.faults import shown
from lobu_provider.errors import config_error


def read_tool_names(given: str | Sequence[str] | None, key: str) -> tuple[str, ...]:
    """Return the names, without white space around them.

    Args:
        given: one name or several, each with more than white space in it.
        key: that they stand under, for the message.

    Raises:
        ConfigError: a text is a pattern, a list or a server, which is the name of no tool: what
            the key does would never happen.
    """
    names = [given] if isinstance(given, str) else given or []
    return tuple(_checked(name.strip(), key) for name in names)


@lru_cache(maxsize=256)  # a config is read anew for each call
def _checked(name: str, key: str) -> str:
    # Most configs name no tool, and loading this takes as long as the rest of the config.
    from lobu_provider.assertions.name_problems import name_problem

    if name_problem(name, "except") is None:
        return name
    raise config_error(
        f"config.{key}: {shown(name)} is no tool's name. Expected names without patterns, such as "
        "lookup_order; list each tool as an item of its own. Case, separators and prefixes such "
        "as mcp__shop__ do not count."
    )
