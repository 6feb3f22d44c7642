"""The ways one secret is written: alone, in a URL, inside a JSON string, in HTML."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote

MASK: Final = "***"
"""What stands for a secret."""

_SCHEME: Final = re.compile(r"(bearer|basic|token)\s+", re.IGNORECASE)
"""What a header value may begin with; the secret is what follows."""


def forms(secret: str) -> tuple[str, ...]:
    """Return the ways a secret is written: of plain letters one, of others about twenty."""
    return _kept_forms(secret) if len(secret) <= _LONGEST_KEPT else _forms(secret)


def _forms(secret: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_ways(secret)))


_kept_forms: Final = lru_cache(maxsize=64)(_forms)
"""Each call asks for those of the same few."""

_LONGEST_KEPT: Final = 1024


def _ways(secret: str) -> Iterator[str]:
    scheme = _SCHEME.match(secret)
    for form in (secret, secret[scheme.end() :]) if scheme else (secret,):
        yield form
        if not _LETTERS.fullmatch(form):
            yield from _in_urls(form)
            yield from _in_json(form)
            yield from (form.translate(entities) for entities in _ENTITIES)


_LETTERS: Final = re.compile(r"[A-Za-z0-9._~-]*")
"""What is written everywhere as it is."""


def _in_urls(form: str) -> Iterator[str]:
    encoded = [quote(form, safe=kept, errors="replace") for kept in _KEPT_IN_URLS]
    for once in (*encoded, encoded[0].replace("%20", "+")):
        yield from (once, _lower(once))
    yield from (quote(encoded[0], safe=""), quote(_lower(encoded[0]), safe=""))


def _lower(encoded: str) -> str:
    return _ESCAPE.sub(lambda escape: escape[0].lower(), encoded)


def _in_json(form: str) -> Iterator[str]:
    written = json.dumps(form)[1:-1]
    yield written
    yield escaped(form)
    yield written.replace("/", "\\/")
    for rest in _NOT_IN_HTML:
        for letter in rest:
            written = written.replace(letter, f"\\u{ord(letter):04x}")
        yield written
    yield _HEX.sub(lambda escape: escape[0].upper().replace("U", "u"), written)


_NOT_IN_HTML: Final = ("&<>", "'=", "+`")
"""What Go's JSON writes as an escape too, Gson in addition, and .NET."""

_HEX: Final = re.compile(r"\\u[0-9a-f]{4}")

_ENTITIES: Final = tuple(
    str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", **more})
    for more in (
        {},
        {'"': "&quot;"},
        {'"': "&quot;", "'": "&#x27;"},
        {'"': "&quot;", "'": "&#39;"},
        {'"': "&quot;", "'": "&#039;"},
        {'"': "&#34;", "'": "&#39;"},
        {'"': "&#34;", "'": "&#39;", "+": "&#43;"},
        {'"': "&quot;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"},
        {'"': "&quot;", "'": "&#39;", "`": "&#x60;", "=": "&#x3D;", "/": "&#x2F;"},
        {letter: f"&#{ord(letter)};" for letter in string.punctuation},
        {letter: f"&#x{ord(letter):x};" for letter in string.punctuation},
    )
)
"""What is written in HTML by Python, Go, PHP, and the template languages of JavaScript."""


_KEPT_IN_URLS: Final = ("", "/", "!'()*")
"""What is not percent-encoded, beside letters, digits and ``-._~``: of RFC 3986 in a query, of a
path, of JavaScript's ``encodeURIComponent``."""

_ESCAPE: Final = re.compile("%[0-9A-F]{2}")

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
"""What JSON writes as it is."""


def escaped(text: str) -> str:
    """Return how a text is written inside a JSON string whose letters are left as they are."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)[1:-1]
