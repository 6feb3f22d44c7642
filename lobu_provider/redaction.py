"""Keep secrets out of everything that leaves a call.

Two kinds of knowledge: the secrets of this call by value (token, session tokens, header values),
and what a secret looks like (personal access tokens, session tokens, bearer headers, credentials
in a URL, a JSON text under a key such as ``token``). Values are replaced everywhere; shapes only in
our own texts, so that an agent's answer is never altered by a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from lobu_provider.secret_forms import escaped, forms

MASK: Final = "***"

MIN_SECRET_LENGTH: Final = 6
"""Shorter values are not searched for: replacing ``abc`` everywhere would wreck the answer.
It is above ``len(MASK)``, so that each replacement shortens the text and the loop ends."""

_SHAPES: Final = (
    # A word may stand before a token without a gap: "sess_", or the n of a line end in JSON.
    # A personal access token of the gateway; its own check ignores case too.
    (re.compile(r"owl_pat_[A-Za-z0-9._~+/=-]+", re.IGNORECASE), MASK),
    # A session token: three hexadecimal blobs, from the create reply; the last may be cut off, and
    # a URL has other colons.
    (
        re.compile(
            r"(?<![0-9a-f])[0-9a-f]{16,}(?::|%3a)[0-9a-f]{16,}(?:(?::|%3a)[0-9a-f]*)?",
            re.IGNORECASE,
        ),
        MASK,
    ),
    (
        re.compile(r"(?i)(?:(?<![a-z0-9])|(?<=\\[nrtbf]))(bearer|basic)\s+[A-Za-z0-9._~+/=:-]{6,}"),
        rf"\1 {MASK}",
    ),
    (re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,15}://)[^\s/@]{1,512}@"), rf"\1{MASK}@"),
    (
        re.compile(r"(?i)([?&](?:token|access_token|api_key|key|secret|password)=)[^&\s#]+"),
        rf"\1{MASK}",
    ),
)

_STRING: Final = r'([^"\\]*(?:\\.[^"\\]*)*)'
_PAIR: Final = re.compile(rf'(?<!\\)("{_STRING}"\s*:\s*"){_STRING}', re.DOTALL)
"""A key of a JSON object and its text, which may be cut off."""

_SECRET_KEYS: Final = frozenset({"auth", "authorization", "sseurl", "messagesurl"})
"""Keys whose texts are nobody's business, beside those that end in ``token``."""

_SECRET: Final = re.compile(r"[A-Za-z0-9._~:+/=-]{16,}")
"""What is a secret under ``csrfToken``, say; shorter or with a space it may be words of an answer,
as in ``"typeOfToken": "Bearer"``."""

_CUT_ESCAPE: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?\Z")


class Redactor:
    """Replaces known secrets, and in our own texts whatever looks like one. Pure and idempotent.

    Args:
        secrets: values to hide; ``None``, blanks and values under 6 characters are ignored.
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        known = {form for s in secrets if s is not None for form in forms(s.strip())}
        # Longest first: a secret that contains another must go as a whole.
        self._secrets = tuple(
            sorted((s for s in known if len(s) >= MIN_SECRET_LENGTH), key=len, reverse=True)
        )
        self._in_json = tuple({escaped(secret) for secret in self._secrets})

    def values(self, text: str) -> str:
        """Return ``text`` without the known secrets."""
        changed = True
        while changed:  # a replacement can put the two halves of a secret side by side
            changed = False
            for secret in self._secrets:
                if secret in text:
                    text = text.replace(secret, MASK)
                    changed = True
        return text

    def text(self, text: str) -> str:
        """Return ``text`` without known secrets and without anything shaped like one."""
        text = _without_texts_of_secret_keys(self.values(text))
        for shape, replacement in _SHAPES:
            text = shape.sub(replacement, text)
        return self.values(text)

    def shortened(self, text: str, limit: int) -> str:
        """Return the start of ``text``: without secrets before it is cut, so that no half is left.

        Args:
            text: of any length.
            limit: characters that are kept; a cut is marked by ``...``.
        """
        text = self.text(self.values(text)[: limit * 10])  # shapes are slow to look for
        return text if len(text) <= limit else f"{text[:limit]}..."

    def may_occur_in(self, json_text: str) -> bool:
        """Return whether :meth:`json` might change a value; ``False`` is certain.

        Takes a fraction of the time of :meth:`json`.

        Args:
            json_text: the value as ``json.dumps(..., ensure_ascii=False)`` writes it.
        """
        # Characters are escaped one by one, so a part of a string is a part of what is written.
        return any(secret in json_text for secret in self._in_json)

    def json(self, value: Any) -> Any:
        """Return a copy of a JSON value with the known secrets replaced in strings and keys."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.values(value)
        if isinstance(value, Mapping):
            return {self.json(key): self.json(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.json(item) for item in value]
        return value

    def json_text(self, value: Any) -> Any:
        """Return a copy of a JSON value in which each string and key is as :meth:`text` has it.

        Before it is written, as there an escape can hide where a secret begins. What stands under
        a key such as ``token`` is hidden.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(key): MASK
                if isinstance(item, str) and _is_secret_key(key)
                else self.json_text(item)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.json_text(item) for item in value]
        return value


def tokens_in(body: str) -> list[str]:
    """Return the texts in a reply that are secrets wherever they are repeated, at any depth.

    That is what stands under ``token``, and what looks like a secret under a longer key of that
    kind. Under its key everything of that kind is hidden by :meth:`Redactor.text`.

    Args:
        body: JSON, or what is left of it: cut off, or with something behind it.
    """
    pairs = ((_unescaped(found[2]).lower(), _unescaped(found[3])) for found in _PAIR.finditer(body))
    return [
        text
        for key, text in pairs
        if (text and key == "token") or (key.endswith("token") and _SECRET.fullmatch(text))
    ]


def _is_secret_key(key: str) -> bool:
    return key.lower() in _SECRET_KEYS or key.lower().endswith("token")


def _without_texts_of_secret_keys(text: str) -> str:
    return _PAIR.sub(_without_secret, text)


def _without_secret(pair: re.Match[str]) -> str:
    if _is_secret_key(_unescaped(pair[2])):
        return f"{pair[1]}{MASK}"
    inside = _unescaped(pair[3])  # with escapes it may be JSON itself
    hidden = inside if inside == pair[3] else _without_texts_of_secret_keys(inside)
    return pair[0] if hidden == inside else f"{pair[1]}{escaped(hidden)}"


def _unescaped(text: str) -> str:
    """Return what the inside of a JSON string means, without an escape that is cut at its end."""
    if "\\" not in text:
        return text
    for written in (text, _CUT_ESCAPE.sub("", text)):
        try:
            return str(json.loads(f'"{written}"', strict=False))
        except ValueError:
            continue
    return text
