"""Texts that look like something else than what they are read as.

``args: {path: '/etc/*'}`` is equal to no path. Where a check says that something did *not* happen,
such a text would make it pass whatever happened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.assertions.values import is_blank, show, sorted_keys

_SLASHED: Final = re.compile(r"/((?:[^/\\]|\\.)+)/([gimsuy]*)", re.DOTALL)
_SLASHED_WITH_FLAGS: Final = re.compile(r"/((?:[^/\\]|\\.)+)/[gimsuy]+", re.DOTALL)
_PATTERN: Final = re.compile(r"^(?:\(\?i\)|\^)|\.[*+]|\\[dws][*+?{]")
_GLOB_OR_CHOICE: Final = re.compile(r"[*|]")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00\.000Z")

_NO_DATE: Final = "is what promptfoo makes of a date without quotes; put it in quotes"

LINE_END: Final = "it ends with a line end, as YAML's | and > leave it; write |- or >-"


def without_slashes(text: str) -> str | None:
    """Return the pattern that was meant by ``/delete/i``; ``None`` for other texts."""
    found = _SLASHED.fullmatch(text)
    if found is None:
        return None
    body, flags = found[1], found[2]
    return f"(?i){body}" if "i" in flags and not body.startswith("(?i)") else body


def has_line_end(text: str) -> bool:
    """Return whether a text that is more than white space ends with a line end."""
    return text.endswith(("\n", "\r")) and not is_blank(text)


def text_doubt(text: str) -> str | None:
    """Return why a text is probably never found as it is, in the words of a text or a card."""
    if has_line_end(text):
        return LINE_END
    if _SLASHED_WITH_FLAGS.fullmatch(text) or _PATTERN.search(text):
        return "it looks like a pattern, but is looked for as it is"
    return None


def argument_doubts(wanted: Any, place: str, *, texts: bool = True) -> list[str]:
    """Return which wanted arguments are probably equal to none.

    Args:
        wanted: checked by :func:`check_arguments`.
        place: where it stands, for the message.
        texts: whether texts are doubted too.
    """
    if isinstance(wanted, str):
        doubt = _value_doubt(wanted) if texts else None
        return [] if doubt is None else [f"{place}: {show(wanted)}: {doubt}"]
    if isinstance(wanted, list):
        items = [(item, f"{place}[{index}]") for index, item in enumerate(wanted)]
    elif not isinstance(wanted, Mapping) or any(key.startswith("$") for key in wanted):
        return []
    elif not wanted:
        return [f"{place}: {{}} {_NO_DATE} (for any value: {{$any: true}})"]
    else:
        items = [(wanted[key], f"{place}.{key}") for key in sorted_keys(wanted)]
    return [doubt for item, at in items for doubt in argument_doubts(item, at, texts=texts)]


def _value_doubt(text: str) -> str | None:
    meant = "for the text itself write {$contains: ...}, or text: equal for the whole"
    if has_line_end(text):
        return f"{LINE_END}; {meant}"
    if _DATE.fullmatch(text):
        return f"it {_NO_DATE}; {meant}"
    if without_slashes(text) or _PATTERN.search(text) or _GLOB_OR_CHOICE.search(text):
        return (
            "it looks like a pattern, but is compared as it is; write {$regex: ...} with a regular "
            f"expression; {meant}"
        )
    return None


def empty_texts(wanted: Any, place: str) -> list[str]:
    """Return where wanted arguments have an empty text, which is contained in every text."""
    if wanted == "":
        return [f"{place}: every text contains the empty one; write {{$any: true}}"]
    if isinstance(wanted, list):
        items = [(item, f"{place}[{index}]") for index, item in enumerate(wanted)]
    elif isinstance(wanted, Mapping):
        items = [(wanted[key], f"{place}.{key}") for key in sorted_keys(wanted)]
    else:
        return []
    return [problem for item, at in items for problem in empty_texts(item, at)]
