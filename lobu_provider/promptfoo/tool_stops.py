"""End a conversation at a tool call: ``stopOnTool`` and ``maxToolCalls``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lobu_provider.errors import Failure, failure
from lobu_provider.events import Event, ToolUse
from lobu_provider.json_safe import json_safe


class ToolStops:
    """Watches the tool calls of a whole conversation; given to each turn as ``stop_when``.

    Args:
        stop_on: names of tools, with or without a ``server__`` or ``lobu_`` prefix.
        max_calls: how many calls are allowed; ``None`` for any number.
    """

    def __init__(self, stop_on: Sequence[str], max_calls: int | None) -> None:
        self._stop_on = frozenset(_bare(name) for name in stop_on)
        self._max_calls = max_calls
        self._calls: set[str] = set()
        self.stopped: str | None = None
        """Why the conversation was ended, as a sentence."""

    def __call__(self, event: Event) -> str | Failure | None:
        """Return the reason to leave the turn, or its failure."""
        if not isinstance(event, ToolUse):
            return None
        identity = [event.tool_call_id or event.timestamp_ms, event.tool_name]
        self._calls.add(json.dumps(json_safe([*identity, event.data.get("input")])))
        if self._max_calls is not None and len(self._calls) > self._max_calls:
            return failure(
                "limit",
                f"The agent called {event.tool_name!r}, its tool call number {len(self._calls)}; "
                f"maxToolCalls allows {self._max_calls}. The turn was left and may go on at the "
                "gateway.",
                phase="turn",
            )
        if _bare(event.tool_name) not in self._stop_on:
            return None
        self.stopped = f"The tool {event.tool_name!r} was called (stopOnTool)."
        return self.stopped


def _bare(name: str) -> str:
    return name.strip().rpartition("__")[2].removeprefix("lobu_")
