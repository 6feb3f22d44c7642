"""How long a regular expression may search, from its own structure.

Python's matcher tries the ways in which a pattern can fit one after the other, and cannot be
stopped: a pattern such as ``(\\w+ ?)+`` with nothing to find takes for ever, and the whole process
with it. So the ways are counted beforehand, and too many are refused.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any, Final

MAX_TEXT: Final = 500
"""Characters that are searched; a pattern is judged for so many."""

_ENDLESS: Final = 200
"""Ways of a repeat without a bound. Not 500: the second of two begins where the first ends."""

MAX_WAYS: Final = 100_000
"""Ways to fit at one place. Two ``.*`` have 40,000, and the longest search with them takes about
a second."""

_parser: Final[Any] = importlib.import_module(
    "re._parser" if sys.version_info >= (3, 11) else "sre_parse"
)


def takes_too_long(pattern: str) -> bool:
    """Return whether a search in :data:`MAX_TEXT` characters may take longer than can be borne.

    Raises:
        re.error: it is no regular expression.
    """
    nodes = list(_parser.parse(pattern))
    if nodes and str(nodes[-1][0]) in _REPEATS and _ways(*_named(nodes[-1])) <= _ENDLESS:
        nodes.pop()  # a last ".*" fits at once, and nothing follows that could send it back
    return _ways_of_all(nodes) > MAX_WAYS


def _ways_of_all(nodes: list[Any]) -> float:
    """Return in how many ways a sequence may fit at one place, at most."""
    return math.prod(_ways(*_named(node)) for node in nodes)


def _named(node: Any) -> tuple[str, Any]:
    kind, found = node
    return str(kind), found


def _ways(kind: str, found: Any) -> float:
    if kind in _ONE_WAY:
        return 1
    if kind in _REPEATS:
        least, most, inner = found
        return _ways_of_repeat(int(least), int(most), _ways_of_all(list(inner)))
    if kind == "BRANCH":
        return sum(_ways_of_all(list(branch)) for branch in found[1])
    if kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return _ways_of_all(list(found[-1]))
    if kind == "ATOMIC_GROUP":
        return _ways_of_all(list(found))
    if kind == "GROUPREF_EXISTS":
        return sum(_ways_of_all(list(branch)) for branch in found[1:] if branch is not None)
    if kind == "GROUPREF":
        return _ENDLESS  # it compares a text of any length at each try
    return math.inf  # of a later Python


_ONE_WAY: Final = frozenset(
    {"LITERAL", "NOT_LITERAL", "ANY", "ANY_ALL", "IN", "RANGE", "CATEGORY", "AT"} | {"FAILURE"}
)


_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


def _ways_of_repeat(least: int, most: int, inner: float) -> float:
    if inner <= 1:
        return min(most - least + 1, _ENDLESS)
    if most > math.log2(MAX_WAYS) + 1:  # with two ways each already too many
        return math.inf
    return sum(inner**count for count in range(least, most + 1))
