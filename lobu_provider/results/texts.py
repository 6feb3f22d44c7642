"""Make texts of a run fit to be shown: bounded, without secrets and control characters.

What an agent, a tool or a grader said can hold anything; what we write is read by terminals,
XML parsers and GitHub.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Final

from lobu_provider.json_safe import json_safe, safe_text
from lobu_provider.redaction import MASK, Redactor
from lobu_provider.results.documents import plain
from lobu_provider.results.secret_keys import masked

_SHAPES: Final = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}|\bgh[opsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+"
)
"""Keys of other services: their rows are read here too."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
"""With the line ends and changes of direction that Unicode adds to ASCII's."""
_STACK: Final = re.compile(r"\n\s*(?:at |Stack Trace:|--Python Traceback|Traceback \(most).*", re.S)
_REDACTOR: Final = Redactor()
_SHORT: Final = 400


def shown(text: str, limit: int = 2000) -> str:
    """Return a text for people: no secret, no control characters, at most ``limit`` characters."""
    if len(text) > _SHORT:
        return _shown(text[: 4 * limit], limit)  # a secret may end after the cut
    return _remembered(text, limit)


def _shown(text: str, limit: int) -> str:
    text = _SHAPES.sub(MASK, _REDACTOR.text(text))
    text = _CONTROL.sub(_escape, safe_text(text))
    return text if len(text) <= limit else text[: limit - 3] + "..."


_remembered = lru_cache(maxsize=10_000)(_shown)
"""The same names and reasons come in each row."""


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def one_line(text: str, limit: int = 120) -> str:
    """Return a text as one line of at most ``limit`` characters."""
    return shown(" ".join(text[: 8 * limit].split()), limit)


def reason(text: str, limit: int = 600) -> str:
    """Return why something failed, without the stack of the program that said it."""
    return shown(_STACK.sub("", text).strip(), limit)


def json_shown(value: Any, limit: int = 2000) -> str:
    """Return a JSON value in one line, values under names of secrets hidden."""
    return shown(json.dumps(masked(json_safe(plain(value))), ensure_ascii=False), limit)


def times(count: int, noun: str) -> str:
    """Return ``1 test`` or ``2 tests``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
