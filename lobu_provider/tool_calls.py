"""Collect the tool calls of one turn: each once, with all that was told of it.

Gateways tell a call again: newer ones repeat a trace that nobody acknowledged. Some model servers
number the calls of each step from zero, so that two different calls have one id. A call is
therefore known by its id, name, input and timestamp together. Where one of two events lacks input
or timestamp, that part tells nothing apart. Without an id the timestamp takes its place; without
both, every event is a call.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lobu_provider.events import ToolUse
from lobu_provider.json_safe import json_key


@dataclass(frozen=True)
class ToolCall:
    """One finished tool call, as the gateway reported it."""

    name: str
    data: Mapping[str, Any]
    """What its events told: ``input``, ``isError``, ``result_summary`` and whatever else."""
    tool_call_id: str | None = None
    received_s: float | None = None
    """When the gateway first told of it, on the clock of the events: when it had ended."""


class ToolCalls:
    """The calls so far. The one notion of which events are one call."""

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._groups: dict[Hashable, _Group] = {}

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def all(self) -> tuple[ToolCall, ...]:
        """Each call once, in the order in which they were first told."""
        return tuple(self._calls)

    def add(self, event: ToolUse) -> None:
        """Take in an event.

        A call that is told again keeps its place. What is told later counts, but a missing value
        erases nothing, and an error stays one.
        """
        known = self._place_of(event)
        if known is None:
            self._calls.append(
                ToolCall(event.tool_name, event.data, event.tool_call_id, event.received_s)
            )
            return
        call = self._calls[known]
        self._calls[known] = replace(call, data=_merged(call.data, event.data))

    def _place_of(self, event: ToolUse) -> int | None:
        """Return the place of the call that ``event`` tells again, or remember a new one."""
        if event.tool_call_id is None and event.timestamp_ms is None:
            return None
        identity: Hashable = (event.tool_call_id, event.tool_name)
        if event.tool_call_id is None:
            identity = (event.timestamp_ms, event.tool_name, "by time")
        group = self._groups.get(identity)
        if group is None:
            self._groups[identity] = _Group(event, len(self._calls))
            return None
        return group.find_or_add(event, len(self._calls))


_ANY: Final = object()
"""Stands for whatever value there is."""


class _Group:
    """The calls of one id and name. Most have one event, for which no key is ever made."""

    def __init__(self, first: ToolUse, place: int) -> None:
        self._first: tuple[ToolUse, int] | None = (first, place)
        self._places: dict[tuple[Hashable, Hashable], int] = {}

    def find_or_add(self, event: ToolUse, new_place: int) -> int | None:
        if self._first is not None:
            self._remember(*_parts(self._first[0]), self._first[1])
            self._first = None
        time, told = _parts(event)
        # The nearest first: the same, then one of which less was known, then one that tells more.
        times = (time, None) if time is not None else (None, _ANY)
        inputs = (told, None) if told is not None else (None, _ANY)
        keys = ((one, other) for one in times for other in inputs)
        place = next((self._places[key] for key in keys if key in self._places), None)
        self._remember(time, told, new_place if place is None else place)
        return place

    def _remember(self, time: Hashable, told: Hashable, place: int) -> None:
        for one in (time, _ANY):
            for other in (told, _ANY):
                self._places[one, other] = place


def _parts(event: ToolUse) -> tuple[Hashable, Hashable]:
    told = event.data.get("input")
    return event.timestamp_ms, None if told is None else json_key(told)


def _merged(before: Mapping[str, Any], again: Mapping[str, Any]) -> Mapping[str, Any]:
    news = {key: value for key, value in again.items() if value is not None or key not in before}
    merged = {**before, **news}
    if before.get("isError") is True:
        merged["isError"] = True
    return merged
