"""The ways one secret is written: alone, in a URL, inside a JSON string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

_SCHEME: Final = re.compile(r"(bearer|basic|token)\s+", re.IGNORECASE)
"""What a header value may begin with; the secret is what follows."""


def forms(secret: str) -> Iterator[str]:
    """Yield the ways a secret is written: alone, in a URL, and inside a JSON string."""
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
