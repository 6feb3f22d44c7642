"""Parts of a Markdown document that show what a run says: escaped, bounded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lobu_provider.results.texts import one_line, shown

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~&@!])")


def escaped(text: str, limit: int = 200) -> str:
    """Return one line in which nothing is markup, a mention or a link."""
    return _SPECIAL.sub(r"\\\1", one_line(text, limit)).replace("://", ":\\//")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table; the cells must be escaped."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def block(text: str, limit: int = 4000) -> Iterator[str]:
    """Yield a code block around a text, with a fence longer than any in it."""
    text = shown(text, limit)
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from text.split("\n")
    yield fence


def bounded(lines: Iterable[str], most: int) -> Iterator[str]:
    """Yield lines as far as they fit into ``most`` bytes, and then that the rest is cut."""
    size = 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > most:
            yield ""
            yield "The rest is cut: it is too long to be shown here."
            return
        yield line


def percent(rate: float | None) -> str:
    """Return a rate as a percentage; only all is 100 % and only none is 0 %."""
    if rate is None:
        return "-"
    if 0 < rate < 1:
        return f"{min(max(rate, 0.001), 0.999):.1%}"
    return f"{rate:.0%}"


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number, or ``-`` for what is unknown."""
    return "-" if value is None else f"{value:,.{digits}f}"
