"""End a conversation at a tool call: ``stopOnTool`` and ``maxToolCalls``.

Calls are judged twice: as they come, to leave the turn at once, and in the turns as they are
folded, since a call can be told after the end of its turn or under another message's id.
"""

from __future__ import annotations

from collections.abc import Sequence

from lobu_provider.assertions.names import same_name
from lobu_provider.errors import Failure, failure
from lobu_provider.events import Event, ToolUse
from lobu_provider.tool_calls import ToolCall, ToolCalls
from lobu_provider.turn import Turn


class ToolStops:
    """Watches the tool calls of a whole conversation; given to each turn as ``stop_when``.

    Args:
        stop_on: names of tools.
        max_calls: how many calls are allowed; ``None`` for any number.
    """

    def __init__(self, stop_on: Sequence[str], max_calls: int | None) -> None:
        self._stop_on = tuple(stop_on)
        self._max_calls = max_calls
        self._earlier = 0
        self._calls = ToolCalls()
        self.stopped: str | None = None
        """Why the conversation was ended, as a sentence."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self._stop_on) or self._max_calls is not None

    def begin_turn(self, earlier: Sequence[Turn]) -> None:
        """A new turn follows the ``earlier`` ones."""
        self._earlier = sum(len(turn.tool_calls) for turn in earlier)
        self._calls = ToolCalls()

    def __call__(self, event: Event) -> str | Failure | None:
        """Return the reason to leave the turn, or its failure."""
        if not isinstance(event, ToolUse):
            return None
        self._calls.add(event)
        number = self._earlier + len(self._calls)
        if self._max_calls is not None and number > self._max_calls:
            return self._too_many(
                event.tool_name, number, "The turn was left and may go on at the gateway."
            )
        if not self._is_named(event.tool_name):
            return None
        self.stopped = f"The tool {event.tool_name!r} was called (stopOnTool)."
        return self.stopped

    def reached(self, turns: Sequence[Turn]) -> bool:
        """Return whether the conversation ends, as far as the turns tell by now."""
        return self.failure_of(turns) is not None or self.stop_of(turns) is not None

    def failure_of(self, turns: Sequence[Turn]) -> Failure | None:
        """Return the failure of a conversation with more calls than allowed, in its turn."""
        allowed = self._max_calls
        calls = _numbered(turns)
        if allowed is None or len(calls) <= allowed:
            return None
        turn, call = calls[allowed]
        told = f"It was not seen in time to leave turn {turn}."
        return self._too_many(call.name, allowed + 1, told).in_turn(turn)

    def stop_of(self, turns: Sequence[Turn]) -> str | None:
        """Return why the conversation ends, as far as the turns tell by now."""
        if self.stopped is not None:
            return self.stopped
        for turn, call in _numbered(turns):
            if self._is_named(call.name):
                return (
                    f"The tool {call.name!r} was called in turn {turn} (stopOnTool), which was "
                    "not seen in time to leave that turn."
                )
        return None

    def _is_named(self, called: str) -> bool:
        return any(same_name(name, called) for name in self._stop_on)

    def _too_many(self, name: str, number: int, what_now: str) -> Failure:
        return failure(
            "limit",
            f"The agent called {name!r}, its tool call number {number}; maxToolCalls allows "
            f"{self._max_calls}. {what_now}",
            phase="turn",
        )


def _numbered(turns: Sequence[Turn]) -> list[tuple[int, ToolCall]]:
    return [(n, call) for n, turn in enumerate(turns, start=1) for call in turn.tool_calls]
