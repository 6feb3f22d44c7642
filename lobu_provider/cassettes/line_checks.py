"""Whether the lines of a cassette can be played: the types of what a replay uses, and its times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.cassettes.exact_text import STYLES
from lobu_provider.cassettes.placeholders import names_in

MAX_MS: Final = 7 * 86_400_000.0
"""Of a time: no call takes a week, and a replay would go through all of its seconds."""

_TEXT: Final = "a text"
_OBJECT: Final = "an object"
_NUMBER: Final = "a whole number from 1 on"
_STATUS: Final = "a status from 100 to 999"

_KINDS: Final = {
    "request": _TEXT,
    "reply": _STATUS,
    "headers": _OBJECT,
    "text": _TEXT,
    "event": _TEXT,
    "id": _TEXT,
    "stream": _NUMBER,
    "failed": _OBJECT,
    "broke": _OBJECT,
    "style": "one of " + ", ".join(STYLES),
}
"""What each key of a line holds; ``body`` and ``data`` hold anything."""


def check_line(line: Mapping[str, Any], number: int) -> None:
    """See that a line holds what its keys promise.

    Args:
        line: but the first and the last one.
        number: in the file, from 1.

    Raises:
        ValueError: it does not; the text names line and key.
    """
    for key, expected in _KINDS.items():
        if key in line and not _is(expected, line[key]):
            raise ValueError(f"line {number}: {key} is {_shown(line[key])}; expected {expected}")
    if "event" in line and "data" not in line and "text" not in line:
        raise ValueError(f"line {number} has an event without data")
    for key, value in (line.get("headers") or {}).items():
        if not isinstance(value, str):
            raise ValueError(
                f"line {number}: header {_shown(key)} is {_shown(value)}; expected a text"
            )


def check_about(about: Mapping[str, Any]) -> None:
    """See that the first line tells turns and what was said before as texts, where it does.

    Raises:
        ValueError: it does not.
    """
    for key in ("turns", "before"):
        told = about.get(key, [])
        if not isinstance(told, list) or not all(isinstance(text, str) for text in told):
            raise ValueError(f"line 1: {key} is {_shown(told)}; expected a list of texts")


def checked_times(times: Any) -> list[list[Any]]:
    """Return the times of all lines.

    Raises:
        ValueError: they are no list of lists.
    """
    if not isinstance(times, list) or not all(isinstance(own, list) for own in times):
        raise ValueError("'times' is no list with a list for each line")
    return times


def checked_ids(ids: Any) -> dict[str, str]:
    """Return the ids by placeholder.

    Raises:
        ValueError: they are no texts, or one stands within itself.
    """
    if not isinstance(ids, dict) or not all(isinstance(value, str) for value in ids.values()):
        raise ValueError("'ids' is no object of texts")
    done: set[str] = set()
    for name in ids:
        _follow(name, ids, done, ())
    return ids


def _follow(name: str, ids: Mapping[str, str], done: set[str], above: tuple[str, ...]) -> None:
    if name in above or len(above) > 50:
        raise ValueError(f"the id of {name} holds itself")
    if name not in done:
        for other in names_in(ids.get(name, "")):
            _follow(other, ids, done, (*above, name))
        done.add(name)


def time_ms(time: Any, number: int) -> float:
    """Return a time of a line.

    Raises:
        ValueError: it is none that a call can take.
    """
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 <= time <= MAX_MS:
        raise ValueError(
            f"line {number} has the time {_shown(time)}; expected milliseconds, a week at most"
        )
    return float(time)


def no_number(text: str) -> Any:
    """Refuse ``NaN`` and infinities, which are no JSON and could not be written again.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{text} is no number")


def finite(text: str) -> float:
    """Read a number.

    Raises:
        ValueError: it is larger than any.
    """
    value = float(text)
    return value if math.isfinite(value) else no_number(text)


def _is(expected: str, value: Any) -> bool:
    if expected == _TEXT:
        return isinstance(value, str)
    if expected == _OBJECT:
        return isinstance(value, dict)
    if expected in (_NUMBER, _STATUS):
        least, most = (1, 10**6) if expected == _NUMBER else (100, 999)
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return isinstance(value, str) and value in STYLES


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
