"""What counts as nothing: text in which a reader sees no character."""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = r"\x00-\x20\x7f-\xa0\xad\u2028\u2029\ufff9-\ufffb"
_SPACES: Final = r"\u1680\u2000-\u200a\u202f\u205f\u3000"
_FORMATS: Final = (
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufeff\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
_FILLERS: Final = r"\u034f\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols by category that are drawn as nothing."""

INVISIBLE: Final = f"{_CONTROLS}{_SPACES}{_FORMATS}{_FILLERS}"
"""The characters that are drawn as nothing, for a class of a regular expression. Written out: to
ask for the category of each character of a text that a gateway sends takes seconds for millions."""

_BLANK: Final = re.compile(f"[{INVISIBLE}]*")


def is_blank(text: str) -> bool:
    """Return whether ``text`` shows nothing: spaces, controls, zero-width and filler characters."""
    return _BLANK.fullmatch(text) is not None
