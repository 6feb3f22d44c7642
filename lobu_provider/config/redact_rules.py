"""Read ``config.cassetteRedact``: what is masked in a cassette beside the secrets of the call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lobu_provider.config.faults import shown
from lobu_provider.config.pattern_cost import takes_too_long
from lobu_provider.errors import config_error

Step = str | int | None
"""Of a path: a key, an index, or ``None`` for every item. ``..`` is a step of its own."""

DEEP: Final = ".."

_STEP: Final = re.compile(r"(\.\.)|\.?\[(\d+|\*)\]|\.?\['([^']+)'\]|\.?([^.\[\]']+)")


@dataclass(frozen=True)
class RedactRules:
    """What to mask: every match of a pattern in a text, every value at a path."""

    patterns: tuple[re.Pattern[str], ...] = ()
    paths: tuple[tuple[Step, ...], ...] = ()


def read_redact_rules(given: Sequence[str]) -> RedactRules:
    """Tell patterns from JSON paths: a path begins with ``$`` and goes on with ``.`` or ``[``.

    Raises:
        ConfigError: an entry is blank, no path, no pattern, or a pattern that could search for
            ever; the message names it.
    """
    paths = [text for text in given if re.match(r"\$[.\[]", text.strip())]
    patterns = [text for text in given if text not in paths]
    return RedactRules(tuple(map(_pattern, patterns)), tuple(map(_path, paths)))


@lru_cache(maxsize=256)  # a config is read anew for each call
def _pattern(text: str) -> re.Pattern[str]:
    try:
        found, slow = re.compile(text), takes_too_long(text)
    except (re.error, OverflowError, RecursionError) as exc:
        raise config_error(
            f"config.cassetteRedact: {shown(text)} is not a regular expression: {exc}. A JSON path "
            "begins with '$.'"
        ) from None
    if found.search(""):
        raise config_error(
            f"config.cassetteRedact: {shown(text)} fits an empty text, so it would mask everything "
            "and nothing. Write what has to be there, e.g. '[0-9]{16}'."
        )
    if slow:
        raise config_error(
            f"config.cassetteRedact: a search for {shown(text)} could take for ever: it repeats "
            "what itself repeats, or has too many of * + ? and |. Write several plain patterns."
        )
    return found


@lru_cache(maxsize=256)
def _path(text: str) -> tuple[Step, ...]:
    rest, steps = text.strip()[1:], list[Step]()
    while rest:
        found = _STEP.match(rest)
        if found is None:
            break
        deep, index, quoted, plain = found.groups()
        if deep:
            steps.append(DEEP)
        elif index is not None:
            steps.append(None if index == "*" else int(index))
        else:
            steps.append(quoted if quoted is not None else None if plain == "*" else plain)
        rest = rest[found.end() :]
    if rest or not steps or steps[-1] == DEEP:
        raise config_error(
            f"config.cassetteRedact: {shown(text)} is not a JSON path that can be read. Expected "
            "keys, indices and '..' for any depth, e.g. $.input.email, $..password, $.items[*].name"
        )
    return tuple(steps)
