"""The ways one secret is written: alone, in a URL, inside a JSON string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote

MASK: Final = "***"
"""What stands for a secret."""

_SCHEME: Final = re.compile(r"(bearer|basic|token)\s+", re.IGNORECASE)
"""What a header value may begin with; the secret is what follows."""


def forms(secret: str) -> tuple[str, ...]:
    """Return the ways a secret is written: alone, in a URL, and inside a JSON string."""
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
        for kept in _KEPT_IN_URLS:
            encoded = quote(form, safe=kept, errors="replace")
            yield encoded
            yield _ESCAPE.sub(lambda escape: escape[0].lower(), encoded)
        if not _PLAIN.fullmatch(form):
            yield json.dumps(form)[1:-1]
            yield escaped(form)


_KEPT_IN_URLS: Final = ("", "/", "!'()*")
"""What is not percent-encoded, beside letters, digits and ``-._~``: of RFC 3986 in a query, of a
path, of JavaScript's ``encodeURIComponent``."""

_ESCAPE: Final = re.compile("%[0-9A-F]{2}")

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
"""What JSON writes as it is."""


def escaped(text: str) -> str:
    """Return how a text is written inside a JSON string whose letters are left as they are."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)[1:-1]
