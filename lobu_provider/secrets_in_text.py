"""Find what stands under the name of a secret in a text, however it is written there.

That is JSON, also inside JSON and cut off, Python's and JavaScript's way of showing a dictionary,
and the fields of a URL or form. Each character is looked at a bounded number of times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from typing import Final

from lobu_provider.secret_forms import MASK, escaped
from lobu_provider.secret_names import (
    BARE,
    NAME_KEYS,
    Name,
    Named,
    is_said,
    name_below,
    name_of,
)
from lobu_provider.secrets_in_markup import Span, in_markup

_STRING: Final = {mark: rf"[^{mark}\\]*(?:\\.[^{mark}\\]*)*" for mark in "\"'`"}
_INSIDE: Final = {mark: re.compile(string, re.DOTALL) for mark, string in _STRING.items()}
"""The inside of a string, which may be cut off."""

_OPENING: Final = re.compile(r"[bBrRuU]{0,2}(\\*)([\"'`])")
_IS: Final = r"\s*(?::|=>)\s*"
_HEAD: Final = re.compile(
    rf"(?<!\\)\"({_STRING[chr(34)]})\"{_IS}"  # JSON
    rf"|(?<![\\\w])b?'({_STRING[chr(39)]})'{_IS}"  # Python
    rf"|(?<!\\)(\\+[\"'])([\w.$ -]{{1,64}})\3{_IS}"  # a part of JSON inside JSON
    rf"|[{{,(\[]\s*[:@]?([A-Za-z_$][\w$-]{{0,63}}){_IS}"  # JavaScript, Ruby
    r"|\s([A-Za-z_]\w{0,63}):(?=\S)"  # Go
    r"|(?:^[ \t]*(?:-[ ])?|(?<=[\"'\n]))([A-Za-z_][\w.-]{0,63})[ \t]*:[ \t]*"  # a header, YAML
    r"|[\[(]\s*([\"'])([\w.$ -]{1,64})\8\s*,\s*(?=[bru]?[\"'])",  # a pair
    re.DOTALL | re.MULTILINE,
)
"""A key of a dictionary."""

_PART: Final = re.compile(
    rf"(?P<open>[\[{{(])|(?P<close>[\]}})])|(?P<bare>{BARE.pattern})|(?<!\\)(?=\\*[\"'`])"
)
_COLON: Final = re.compile(_IS)

_FIELD: Final = re.compile(
    r"(?:(?P<url>[?&#;]|%(?:3f|26|23|3b))(?:[\w.-]{1,64}(?:\[|%5b))?|(?<![\w.%-]))"
    r"(?P<name>[a-z_][\w.-]{0,63})(?:\]|%5d)?(?:[ \t]?=[ \t]?|%3d)",
    re.IGNORECASE,
)
"""A field of a query, of a fragment, also where a URL stands in a URL, of a form or a file."""
_FIELD_VALUE: Final = re.compile(r"(?:(?!%26|%23)[^&\s#\"<>\\])+", re.IGNORECASE)

_NEAR: Final = 200

_BARE_MASK: Final = f'"{MASK}"'
_HINTS: Final = (
    *(
        "token",
        "secret",
        "passw",
        "passphrase",
        "pwd",
        "key",
        "auth",
        "credential",
        "cookie",
        "jwt",
    ),
    *("url", "\\u"),
)
"""One of them is in every name of a secret, or an escape that hides it."""

_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?\Z")


def hidden(text: str) -> tuple[str, list[Named]]:
    """Return a text with ``***`` for what has the name of a secret, and what that was."""
    lower = text.lower()
    if not any(hint in lower for hint in _HINTS):
        return text, []
    named: list[Named] = []
    for look in (spans, fields, in_markup):
        found = list(look(text))
        text = _replaced(text, found)
        named += [one for span in found for one in span.named]
    return text, named


def bare_spans(text: str) -> list[list[tuple[int, int]]]:
    """Return where secrets stand without a mark at their end, so that half of one looks like none.

    In lists, in each of which they are in order and none overlap.
    """
    return [
        [(one.start, one.end) for one in spans(text) if one.shown == _BARE_MASK],
        [(one.start, one.end) for one in fields(text)],
    ]


def _replaced(text: str, parts: Iterable[Span]) -> str:
    shown, done = [], 0
    for span in parts:
        shown += [text[done : span.start], span.shown]
        done = span.end
    return "".join([*shown, text[done:]]) if done else text


def fields(text: str) -> Iterator[Span]:
    """Yield the values of secret fields of URLs and forms."""
    at = 0
    while (found := _FIELD.search(text, at)) is not None:
        at = found.end()
        is_in_url = found["url"] is not None
        name = name_of(found["name"])
        if name is None and is_in_url and found["name"].lower() == "key":
            name = Name("key", is_plural=False)
        if name is None:
            continue
        opening = None if is_in_url else _OPENING.match(text, at)
        if opening is not None:
            start, end, at = _string(text, opening)
            yield from _if_hidden(name, text, start, end)
            continue
        # Elsewhere than in a URL it may be words: "set token=yours".
        if not (is_in_url or BARE.match(text[at : at + _NEAR])):
            continue
        value = _FIELD_VALUE.match(text, at)
        if value is None:
            continue
        if name.hides(value[0]) and not (name.text == "key" and _DASHED.fullmatch(value[0])):
            yield Span(*value.span(), MASK, [Named(name.text, value[0], is_direct=False)])
            at = value.end()


_DASHED: Final = re.compile(r"[a-z]+(?:-[a-z]+)+")
"""Words, as of a page: ``?key=why-it-failed``."""


def spans(text: str) -> Iterator[Span]:
    """Yield what stands under secret keys, in order."""
    at = 0
    while (head := _HEAD.search(text, at)) is not None:
        at = head.end()
        json_key = head[1]
        key = json_key or next((key for key in head.group(2, 4, 5, 6, 7, 9) if key), "")
        key = unescaped(key) if json_key is not None else key
        name = name_of(key)
        if name is None and key.lower() in NAME_KEYS:
            at, name = _told_name(text, at)
        if name is not None and head[9] is not None:
            yield from _second(text, at, name)
        elif name is not None:
            at = yield from _below(text, at, name)
        elif text.startswith('"', at):
            end = _INSIDE['"'].match(text, at + 1).end()  # type: ignore[union-attr]
            inside = text[at + 1 : end]
            if "\\" in inside:  # it may be JSON itself
                read = unescaped(inside)
                parts = list(spans(read))
                if parts:
                    named = [one for part in parts for one in part.named]
                    yield Span(at + 1, end, escaped(_replaced(read, parts)), named)
                if read != inside:
                    at = end


def _told_name(text: str, at: int) -> tuple[int, Name | None]:
    """Return the name that is a value, and where begins what has it: ``name: "token", value: ``."""
    told = _TOLD.match(text, at)
    name = name_of(told[1]) if told is not None else None
    return (told.end(), name) if told is not None and name is not None else (at, None)


_TOLD: Final = re.compile(
    r"[bru]?\\*[\"'`]([\w.$ -]{1,64})\\*[\"'`]\s*,\s*[bru]?\\*[\"'`]?[vV]alue\\*[\"'`]?" + _IS
)


def _second(text: str, at: int, name: Name) -> Iterator[Span]:
    """Yield what is secret of a pair, of which only the first may tell what it is."""
    second = _SECOND.match(text, at)
    if second is not None and name.hides(second[2]):
        yield Span(second.start(1), second.end(), _BARE_MASK, [Named(name.text, second[2], False)])


_SECOND: Final = re.compile(rf"[bru]?([\"'])({BARE.pattern})(?:\1|\Z)")


def _below(text: str, at: int, name: Name) -> Generator[Span, None, int]:
    """Yield what is secret of the value that begins at ``at``, whatever it is; return its end."""
    before = _BEFORE.match(text, at)
    at = before.end() if before is not None else at
    opening, bare = _OPENING.match(text, at), BARE.match(text, at)
    if name.text.endswith("cookie") and opening is None:
        bare = _LINE.match(text, at)
    if opening is not None:
        start, end, after = _string(text, opening)
        yield from _if_hidden(name, text, start, end, is_direct=not name.is_plural)
        return after
    if text.startswith(("{", "[", "("), at):
        return (yield from _in_container(text, at, name))
    if bare is not None:
        yield from _if_hidden(name, text, *bare.span(), is_bare=True)
        return bare.end()
    return at


_BEFORE: Final = re.compile(
    r"(?i:bearer|basic|token|digest|apikey)[ ]+(?![ ])|[A-Za-z_][\w.:]{0,63}(?=\([\"'])"
)
"""What stands before the secret of a header, and Rust's ``Some("...")``."""

_LINE: Final = re.compile(r"[^\s\"'`{\[(][^\n\r\"'`]*")


def _in_container(text: str, at: int, name: Name) -> Generator[Span, None, int]:
    """Yield the strings and long numbers of a list or dictionary, which may be cut off."""
    within: list[str] = []
    while (part := _PART.search(text, at)) is not None:
        at = part.end()
        if part["open"]:
            within.append(part["open"])
        elif part["close"]:
            within.pop()
            if not within:
                return at
        opening = _OPENING.match(text, at) if part.lastgroup is None else None
        if opening is not None:
            start, end, at = _string(text, opening)
        elif part["bare"]:
            start, end = part.span()
        else:
            continue
        colon = _COLON.match(text, at)
        if colon is None:
            if opening is not None and within[-1] == "[" and is_said(name, text[start:end]):
                continue
            yield from _if_hidden(name, text, start, end, is_bare=opening is None)
            continue
        below = name_below(name, unescaped(text[start:end]))
        at = colon.end()
        if below is not None and below is not name:
            at = yield from _below(text, at, below)
    return len(text)


def _if_hidden(
    name: Name, text: str, start: int, end: int, *, is_direct: bool = False, is_bare: bool = False
) -> Iterator[Span]:
    value = text[start:end]
    if name.hides(value):
        named = Named(name.text, unescaped(value), is_direct)
        yield Span(start, end, _BARE_MASK if is_bare else MASK, [named])


def _string(text: str, opening: re.Match[str]) -> tuple[int, int, int]:
    """Return where the inside of a string begins and ends, and what follows it begins."""
    escapes, mark = opening[1], opening[2]
    start = opening.end()
    if not escapes:
        inside = _INSIDE[mark].match(text, start)
        end = inside.end() if inside is not None else start
        return start, end, end + text.startswith(mark, end)
    # With as many escapes, or fewer where the text was cut out of another.
    closing = re.compile(rf"(?<!\\)\\{{0,{len(escapes)}}}{mark}").search(text, start)
    return (start, *closing.span()) if closing is not None else (start, len(text), len(text))


def unescaped(text: str) -> str:
    """Return what the inside of a JSON string means, without an escape that is cut at its end."""
    if "\\" not in text:
        return text
    for written in (text, _CUT_ESCAPE.sub("", text)):
        try:
            return str(json.loads(f'"{written}"', strict=False))
        except ValueError:
            continue
    return text
