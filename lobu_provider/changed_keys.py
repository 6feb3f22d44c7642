"""How two sets of arguments differ, key by key. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_key

ABSENT: Final = "absent"
"""What a report says in the place of a value that is not there."""


class KeyChange(NamedTuple):
    """One argument that is another, or only on one side."""

    key: str
    """With those above it, as in ``guest.name``."""
    old: tuple[Any, ...]
    """The value, or nothing where the key was absent."""
    new: tuple[Any, ...]


def changed_keys(
    old: Mapping[str, Any], new: Mapping[str, Any], above: str = ""
) -> Iterator[KeyChange]:
    """Yield what differs, in the order of the old keys and then of the new ones.

    An object on both sides is looked into, a list is compared as a whole. Equal is what JSON
    writes alike: 1 and ``true`` differ, as do 1 and 1.0.
    """
    for key in dict.fromkeys([*old, *new]):
        before, after = ((side[key],) if key in side else () for side in (old, new))
        if before and after and json_key(before[0]) == json_key(after[0]):
            continue
        both = [value for side in (before, after) for value in side if isinstance(value, Mapping)]
        if len(both) == 2 and all(both):
            yield from changed_keys(both[0], both[1], f"{above}{key}.")
        else:
            yield KeyChange(f"{above}{key}", before, after)
