"""What counts as nothing: text in which a reader sees no character."""

from __future__ import annotations

import unicodedata
from typing import Final

_FILLERS: Final = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by category that are drawn as nothing."""


def is_blank(text: str) -> bool:
    """Return whether ``text`` shows nothing: spaces, controls, zero-width and filler characters."""
    return all(is_invisible(character) for character in text)


def is_invisible(character: str) -> bool:
    """Return whether a character is drawn as nothing."""
    return (
        character.isspace()
        or character in _FILLERS
        or unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp")
    )
