"""The start of a JSON value from outside, so that what comes next takes no longer for more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, TypeVar

from lobu_provider.redaction import Redactor

_Item = TypeVar("_Item")


def start_of(value: Any, room: int, redactor: Redactor, mark: str) -> Any:
    """Return what comes first in a JSON value; a text that is cut shows no half of a secret.

    Args:
        value: as ``json.loads`` makes it; not changed.
        room: characters of its texts and keys, and a value counts as one.
        redactor: knows the secrets.
        mark: stands where a text is cut.
    """

    def start(value: Any) -> Any:
        nonlocal room
        if isinstance(value, str):
            kept = value if len(value) <= room else redactor.shortened(value, room, mark)
            room = max(0, room - len(kept))
            return kept
        room = max(0, room - 1)
        if isinstance(value, dict):
            return {start(key): start(item) for key, item in while_room(value.items())}
        return [start(item) for item in while_room(value)] if isinstance(value, list) else value

    def while_room(items: Iterable[_Item]) -> Iterator[_Item]:
        return takewhile(lambda _: room > 0, items)

    return start(value)
