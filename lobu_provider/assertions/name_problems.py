"""What is no tool's name though a config has it as one, and what to write instead.

A pattern or a list in the place of a name is the name of no tool: ``toolNotCalled`` with
``delete_*`` would pass whatever was called.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from lobu_provider.assertions.lookalikes import without_slashes
from lobu_provider.assertions.patterns import pattern_problems
from lobu_provider.assertions.values import BLANKS, json_text, show

Place = Literal["tool", "item", "step", "except"]
"""Where a name stands: alone, in a list, as a step of ``toolOrder``, under ``except``."""

_ODD: Final = re.compile(
    "[\\x00-\\x1f!\"$%&'()*+,;<=>?\\[\\\\\\]^`{|}\\x7f-\\xa0\\xad\\u1680\\u2000-\\u200f"
    "\\u2028-\\u202f\\u205f-\\u2064\\u3000\\ufeff]"
)
"""What no tool's name has. Gateways and models know letters, digits and ``_ - . / :``."""

_NOTHING: Final = re.compile(r"[-_./:@#~ ]+")
_SERVER: Final = re.compile(r"[mM][cC][pP]__(?:(?!__).)+")
_META: Final = re.compile(r"[*?^$|()\[\]{}+\\]")
_SPLIT: Final = re.compile(r"[,;|\t\r\n]+")
_REGEX: Final = re.compile(r"\.[*?]")
_GLOB: Final = re.compile(r"[*?]")
_NEVER: Final = re.compile(
    "[,;\"'`\\t\\r\\n\\xa0\\u200b-\\u200f\\u2028\\u2029\\ufeff]| *\\| +| +\\|| +$|^ +"
)
_WRITTEN_OUT: Final = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]|\{[0-9,]*\}", re.DOTALL)

_PATTERN_THERE: Final[dict[Place, str]] = {
    "tool": "write pattern: {}",
    "item": "write pattern: {} in an assertion of its own",
    "step": "write the step {{pattern: {}}}",
    "except": "except has names only: list them",
}


def name_problem(name: str, place: Place, *, exact: bool = False) -> str | None:
    """Return why a text is no tool's name and what to write, or ``None`` for a name.

    Args:
        name: not blank.
        place: where it stands.
        exact: ``exactName``, with which any text is a name but for white space around it.
    """
    bare = name.strip(BLANKS)
    found = None if exact else _problem(bare, place)
    if found is not None:
        return f"{show(name)} is no tool's name{found}"
    return None if bare == name else f"{show(name)} has white space around it; write {show(bare)}"


def _problem(name: str, place: Place) -> str | None:
    meant = without_slashes(name)
    if meant is not None:
        return _a_pattern(meant, place)
    odd = _ODD.search(name)
    if odd is None:
        return _plain_problem(name, place)
    parts = _parts(name)
    if parts and not any(_ODD.search(part) for part in parts):
        return f"; write {show(parts[0])}{_OR_EXACT}" if len(parts) == 1 else _a_list(parts, place)
    if _META.search(name):
        return _a_pattern(_pattern_of(name, parts), place)
    code = ord(odd[0])
    character = show(odd[0]) if 0x20 <= code < 0x7F else f"U+{code:04X}"
    return f": it has {character}, which no name has; {_AS_SENT}"


def _plain_problem(name: str, place: Place) -> str | None:
    """The problem of a text without odd characters."""
    if _NOTHING.fullmatch(name):
        return f": it has neither letter nor digit; {_AS_SENT}"
    if name.endswith("__") or _SERVER.fullmatch(name):
        pattern = show(f"^{_escaped(re.sub('_+$', '', name))}__")
        there = f", or {_PATTERN_THERE[place].format(pattern)} where the gateway sends servers"
        return f" but a server's; list its tools{'' if place == 'except' else there}{_OR_EXACT}"
    words = [word for word in name.split(" ") if word not in ("", "and", "or")]
    return _a_list(words, place) if sum("_" in word for word in words) > 1 else None


_OR_EXACT: Final = " (exactName: true takes any text for a name)"
_AS_SENT: Final = f"write it as the gateway sends it{_OR_EXACT}"


def _a_list(names: list[str], place: Place) -> str:
    each = "a step for each" if place == "step" else "each as an item of a list"
    return f" but a list in one text; write {each}: {json_text(names)}{_OR_EXACT}"


def _a_pattern(pattern: str | None, place: Place) -> str:
    written = "... with a regular expression" if pattern is None else show(pattern)
    return f" but a pattern; {_PATTERN_THERE[place].format(written)}{_OR_EXACT}"


def _parts(name: str) -> list[str]:
    inner = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    parts = [part.strip(f"{BLANKS}\"'`") for part in _SPLIT.split(inner)]
    return [part for part in parts if part]


def _pattern_of(name: str, parts: list[str]) -> str | None:
    """The regular expression that was probably meant."""
    globs = [_of_glob(part) for part in parts]
    if globs and all(globs):
        return "|".join(filter(None, globs))
    listed = "," in name or ";" in name
    return None if listed or pattern_problems(name) else name


def _of_glob(text: str) -> str | None:
    plain = _GLOB.sub("", text)
    if _REGEX.search(text) or _ODD.search(plain):
        return None
    core = text.strip("*")
    if not core:
        return "."
    inner = _escaped(core).replace("*", ".*").replace("?", ".")
    start, end = "" if text.startswith("*") else "^", "" if text.endswith("*") else "$"
    return f"{start}{inner}{end}"


def _escaped(text: str) -> str:
    return text.replace(".", "\\.")


def tool_pattern_problem(pattern: str) -> str | None:
    """Return what a pattern of tools' names looks for though no name has it, or ``None``."""
    found = _NEVER.search(_WRITTEN_OUT.sub("x", pattern.removeprefix("(?i)")))
    if found is None:
        return None
    return (
        f"{show(pattern)} looks for {show(found[0])}, which no tool's name has; write several "
        "tools as a|b (a backslash before a character looks for it all the same)"
    )
