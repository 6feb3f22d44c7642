"""Find what has the name of a secret in HTML, XML and encoded JSON. Looks at each letter once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from lobu_provider.secret_forms import MASK
from lobu_provider.secret_names import Name, Named, name_of

_MARK: Final = r"&(?:quot|\#34|\#39|\#x22|\#x27|apos);|%22|%27|%5c%22|\\u0022|\\u0027"
"""A quotation mark in HTML, a URL, and in JSON that is fit for HTML."""

_HEAD: Final = re.compile(
    rf"(?P<mark>{_MARK})(?P<key>[\w.$ -]{{1,64}})(?P=mark)(?:\s|%20|\+)*(?::|%3a|=>|=&gt;)"
    r"(?:\s|%20|\+)*(?P=mark)"
    r"|<(?P<tag>[a-z_][\w.:-]{0,63})>"
    r"|\b(?:name|key|header)=(?P<quote>[\"'])(?P<field>[\w.-]{1,64})(?P=quote)\s+value=(?P=quote)",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """A part of a text that is to be replaced."""

    start: int
    end: int
    shown: str
    """What is to stand there."""
    named: Sequence[Named]


def in_markup(text: str) -> Iterator[Span]:
    """Yield what stands under secret names, in order; it may be cut off."""
    at = 0
    while (head := _HEAD.search(text, at)) is not None:
        at = head.end()
        name = _name(head)
        if name is None:
            continue
        end = text.find(head["mark"] or head["quote"] or "<", at)
        start, at = at, len(text) if end < 0 else end
        if name.hides(text[start:at]):
            yield Span(start, at, MASK, [Named(name.text, text[start:at], is_direct=False)])


def _name(head: re.Match[str]) -> Name | None:
    return name_of(head["key"] or head["field"] or head["tag"].rpartition(":")[2])
