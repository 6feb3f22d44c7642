"""What is another at each recording, ids and times, taken out of the lines and kept apart.

An id becomes ``<<ROLE-N>>``, numbered in the order in which they first appear, a time ``<<time>>``.
So two recordings of the same behaviour have the same lines, and a replay puts the recorded values
back, except those that the replaying client makes anew: its thread and its messages' ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

ROLES: Final = {
    "thread": "thread",
    "messageId": "message",
    "turnMessageId": "message",
    "originMessageId": "message",
    "processedMessageIds": "message",
    "toolCallId": "tool-call",
    "requestId": "request",
    "questionId": "question",
    "jobId": "job",
    "traceparent": "trace",
}
"""Keys whose values are ids."""

SESSION_KEY: Final = "agentId"
"""Of the reply to the create request: the session's id. Elsewhere it is the agent's."""

TIME_KEYS: Final = frozenset({"timestamp", "expiresAt"})
TIME: Final = "<<time>>"

_FREE_ROLES: Final = frozenset({"thread", "session", "message"})
_MIN_FREE: Final = 12
"""Characters of such an id that is replaced also within texts and under keys that are not known."""

_FIRST_NAMES: Final = ("<<", "<<<", "<<<<")

_ANY: Final = re.compile(r"<{2,4}(?:[a-z]+(?:-[a-z]+)?-\d+|time)>>")


def pieces(text: str) -> list[str]:
    """Return a text cut at its placeholders: texts at even places, placeholders between."""
    return re.split(f"({_ANY.pattern})", text)


def names_in(text: str) -> list[str]:
    """Return the placeholders in a text."""
    return _ANY.findall(text)


class Names:
    """The placeholders of one cassette.

    Args:
        texts: everything that will be written: a text of it that looks like a placeholder makes
            all of them look otherwise.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        found = {one.group() for text in texts for one in _ANY.finditer(text)} - {TIME}
        taken = {name.count("<") for name in found}
        self._open = next((o for o in _FIRST_NAMES if len(o) not in taken), _FIRST_NAMES[-1])
        self._by_id: dict[str, str] = {}
        self._free: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    @property
    def ids(self) -> dict[str, tuple[str, str]]:
        """Placeholder to id, as it is and with the placeholder of any other one that is in it."""
        told: dict[str, tuple[str, str]] = {}
        for given, name in self._by_id.items():
            others = {i: p for i, p in self._free.items() if i != given}
            told[name] = (given, _replaced(given, others))
        return told

    def learn(self, value: Any, *, session: bool = False) -> None:
        """Give a placeholder to each id in ``value``."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                role = "session" if session and key == SESSION_KEY else ROLES.get(key)
                for one in item if isinstance(item, list) else [item]:
                    if role is not None and isinstance(one, str) and one:
                        self.name(one, role)
                self.learn(item)
        elif isinstance(value, list):
            for item in value:
                self.learn(item)

    def name(self, value: str, role: str) -> str:
        """Return the placeholder of an id."""
        if value not in self._by_id:
            self._counts[role] = self._counts.get(role, 0) + 1
            self._by_id[value] = f"{self._open}{role}-{self._counts[role]}>>"
            if role in _FREE_ROLES and len(value) >= _MIN_FREE:
                self._free[value] = self._by_id[value]
                # Longest first: the session's id holds the thread's name.
                self._free = dict(sorted(self._free.items(), key=lambda one: -len(one[0])))
        return self._by_id[value]

    def without_ids(self, value: Any, *, session: bool = False) -> Any:
        """Return a copy of a JSON value with placeholders in the place of its ids."""
        return self._put(value, None, self._free, session)

    def _put(self, value: Any, key: str | None, free: Mapping[str, str], session: bool) -> Any:
        if isinstance(value, str):
            is_id = key in ROLES or (session and key == SESSION_KEY)
            if is_id and value in self._by_id:
                return self._by_id[value]
            return _replaced(value, free)
        if isinstance(value, Mapping):
            return {k: self._put(item, k, free, session) for k, item in value.items()}
        if isinstance(value, list):
            return [self._put(item, key, free, session) for item in value]
        return value


def _replaced(text: str, placeholders: Mapping[str, str]) -> str:
    for given, name in placeholders.items():
        if given in text:
            text = text.replace(given, name)
    return text


def without_times(value: Any, times: list[Any]) -> Any:
    """Return a copy with :data:`TIME` in the place of each time; these are added to ``times``."""
    if isinstance(value, Mapping):
        return {
            key: _time_out(item, times)
            if key in TIME_KEYS and (item == TIME or _is_time(item))
            else without_times(item, times)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [without_times(item, times) for item in value]
    return value


def _time_out(item: Any, times: list[Any]) -> str:
    times.append(item)
    return TIME


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def with_times(value: Any, times: Iterable[Any]) -> Any:
    """Undo :func:`without_times`.

    Raises:
        ValueError: there are fewer times than placeholders.
    """
    left = iter(times)

    def put(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                key: _next(left) if key in TIME_KEYS and item == TIME else put(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [put(item) for item in value]
        return value

    return put(value)


def _next(left: Any) -> Any:
    try:
        return next(left)
    except StopIteration:
        raise ValueError(f"a {TIME} has no value in 'times'") from None


def with_ids(value: Any, value_of: Callable[[str], str | None]) -> Any:
    """Return a copy of a JSON value with ids in the place of placeholders.

    Args:
        value: of a line.
        value_of: returns the id of a placeholder, ``None`` for what is none.
    """

    def put(found: re.Match[str]) -> str:
        given = value_of(found.group())
        return found.group() if given is None else given

    if isinstance(value, str):
        return _ANY.sub(put, value) if "<<" in value else value
    if isinstance(value, Mapping):
        return {key: with_ids(item, value_of) for key, item in value.items()}
    if isinstance(value, list):
        return [with_ids(item, value_of) for item in value]
    return value
