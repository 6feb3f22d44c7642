"""Where a regular expression means the same for every text in two of three engines.

Python's ``re`` knows Unicode in ``\\w \\d \\s \\b``, and its ``$`` fits before a last line end. For
JavaScript (without the flag ``u``) what is outside of 16 bits is two characters, ``\\s`` has more
than ASCII's, and ``.`` fits no line end of Unicode's. The dialect of ``turns`` reads code points
and ASCII.
"""

from __future__ import annotations

import re
from typing import Final

from lobu_provider.assertions.patterns import pattern_problems

_PART: Final = re.compile(r"\\.|\[\^|.", re.DOTALL)
_ANY_OF_MANY: Final = frozenset({".", "[^", "\\W", "\\D", "\\S"})
"""What fits a character of two halves as one in some engines and as two in others."""
_BY_UNICODE: Final = frozenset({"\\w", "\\d", "\\s", "\\b", "\\B", "$"})
_BY_NUMBER: Final = frozenset({"\\x", "\\u"})


def same_in_javascript(pattern: str) -> bool:
    """Return whether Python and JavaScript find a pattern of Python's, case counting, alike."""
    if pattern.startswith("(?i)") or pattern_problems(pattern):
        return False
    return not _parts(pattern) & (_ANY_OF_MANY | _BY_UNICODE)


def same_in_turns(pattern: str, ignore_case: bool) -> bool:
    """Return whether the dialect of ``turns`` finds a pattern of JavaScript's alike.

    Args:
        pattern: without flags.
        ignore_case: whether it has the flag ``i``, whose rules differ outside of ASCII.
    """
    if pattern.startswith("(?i)") or pattern_problems(pattern, "i" if ignore_case else ""):
        return False
    parts = _parts(pattern)
    if ignore_case and (not pattern.isascii() or parts & _BY_NUMBER):
        return False
    return not parts & (_ANY_OF_MANY | {"\\s"})


def _parts(pattern: str) -> set[str]:
    """Return what a pattern is made of; what is outside of 16 bits stands as ``.``."""
    found = _PART.findall(pattern)
    return {"." if len(part) == 1 and ord(part) > 0xFFFF else part for part in found}
