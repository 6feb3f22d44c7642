"""Keep secrets out of everything that leaves a call.

Two kinds of knowledge: the secrets of this call by value (token, session tokens, header values),
and what a secret looks like (personal access tokens, session tokens, bearer headers, credentials
in a URL, whatever stands under a name such as ``token``). Values are replaced everywhere; shapes
only in our own texts, so that an agent's answer is never altered by a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from lobu_provider.secret_forms import MASK as MASK
from lobu_provider.secret_forms import escaped, forms
from lobu_provider.secret_names import (
    Name,
    Named,
    entries,
    hidden_in_json,
    is_hidden,
    items,
    named_in_json,
)
from lobu_provider.secrets_in_text import bare_spans, hidden

CUT: Final = "... [cut]"
"""Stands where a text from outside was cut."""

MIN_SECRET_LENGTH: Final = 6
"""Shorter values are not searched for: replacing ``abc`` everywhere would wreck the answer.
It is above ``len(MASK)``, so that each replacement shortens the text and the loop ends."""

_SHAPES: Final = (
    # A word may stand before a token without a gap: "sess_", or the n of a line end in JSON.
    # A personal access token of the gateway; its own check ignores case too.
    (("owl_pat_",), re.compile(r"owl_pat_[A-Za-z0-9._~+/=-]+", re.IGNORECASE), MASK),
    # A session token: three hexadecimal blobs, from the create reply; the last may be cut off, and
    # a URL has other colons.
    (
        (":", "%3a"),
        re.compile(
            r"(?<![0-9a-f])[0-9a-f]{16,}(?::|%3a)[0-9a-f]{16,}(?:(?::|%3a)[0-9a-f]*)?",
            re.IGNORECASE,
        ),
        MASK,
    ),
    # Of letters and dashes alone it is the next word: "basic authentication".
    (
        ("bearer", "basic"),
        re.compile(
            r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))((?i:bearer|basic))\s+"
            r"(?=[A-Za-z0-9._~+/=:-]*(?:\d|[a-z][A-Z]|[._~+/=:][A-Za-z])|[A-Za-z]{20})"
            r"[A-Za-z0-9._~+/=:-]{6,}"
        ),
        rf"\1 {MASK}",
    ),
    (
        ("://",),
        re.compile(r"(?i)(\b[a-z][a-z0-9+.-]{0,15}://)[^\s/@]{1,512}@"),
        rf"\1{MASK}@",
    ),
)
"""Of each what it never is without, in lower case: that is found in no time."""

_SECRET: Final = re.compile(r"[A-Za-z0-9._~:+/=-]{16,}")
"""What is a secret under ``csrfToken``, say; shorter or with a space it may be words of an answer,
as in ``"typeOfToken": "Bearer"``."""

_NO_SECRET: Final = re.compile(r"[A-Za-z]{,15}|.{,5}|.*[ *].*", re.DOTALL)
"""May stand under the name of a secret and be none: ``"auth": "required"``. With a ``*`` a mask
beside it could make it anew, for each of the letters of a text."""

_MAX_REPEATED: Final = 100
"""Secrets of one text that are looked for in the rest of it: a bound on the time it takes."""

_LONGEST: Final = 4096
"""Characters of what only looks like a secret, for which room is left where a text is cut."""


class Redactor:
    """Replaces known secrets, and in our own texts whatever looks like one. Pure and idempotent.

    Args:
        secrets: values to hide; ``None``, blanks and values under 6 characters are ignored.
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        self._given = tuple(secrets)
        known = {form for s in self._given if s is not None for form in forms(s.strip())}
        # Longest first: a secret that contains another must go as a whole.
        self._secrets = tuple(
            sorted((s for s in known if len(s) >= MIN_SECRET_LENGTH), key=len, reverse=True)
        )
        self._shortest = len(self._secrets[-1]) if self._secrets else 0
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
        """Return ``text`` without known secrets and without anything shaped like one.

        What it names as a secret is gone from all of it.
        """
        if len(text) < MIN_SECRET_LENGTH:
            return text
        shown = self._without_shapes(text)
        while shown != text:  # what a replacement puts together may be one too
            text, shown = shown, self._without_shapes(shown)
        return text

    def _without_shapes(self, text: str) -> str:
        text, named = hidden(self.values(text))
        lower = text.lower()
        for hints, shape, replacement in _SHAPES:
            if any(hint in lower for hint in hints):
                text = shape.sub(replacement, text)
        return self.values(Redactor(repeatable(named)).values(text) if named else text)

    def shortened(self, text: str, limit: int, mark: str = "...") -> str:
        """Return the start of ``text`` as :meth:`text` has it, so that no half of a secret is left.

        Takes no longer for a longer text.

        Args:
            text: of any length.
            limit: characters that are kept.
            mark: tells of a cut.
        """
        whole = len(text)
        seen = text[: limit + 2 * (_LONGEST + self._longest)]
        named = self.knowing(named_in(seen))
        text = seen[: named._seam(seen, limit + _LONGEST)] if len(seen) < whole else seen
        shown = named.text(text)
        return shown if len(text) == whole and len(shown) <= limit else f"{shown[:limit]}{mark}"

    def knowing(self, more: Iterable[str]) -> Redactor:
        """Return one that knows more secrets."""
        more = tuple(more)
        return Redactor((*self._given, *more)) if more else self

    @property
    def _longest(self) -> int:
        return len(self._secrets[0]) if self._secrets else 0

    def _seam(self, text: str, at: int) -> int:
        """Return the last place up to ``at`` that is not within a secret.

        Looks only at what spans that place: there may be millions of places where a secret is.
        """
        looks = [[found.span() for found in shape.finditer(text)] for _, shape, _ in _SHAPES]
        looks += bare_spans(text)
        before = at + 1
        while at < before:
            before = at
            for spans in looks:  # of one list none overlap
                while spans and spans[-1][0] >= at:
                    spans.pop()
                if spans and spans[-1][1] > at:
                    at = spans[-1][0]
            for secret in self._secrets:
                start = text.find(secret, max(0, at - len(secret) + 1), at + len(secret) - 1)
                at = start if start >= 0 else at
        return at

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
            return self.values(value) if len(value) >= self._shortest else value
        if isinstance(value, Mapping):
            return {self.json(key): self.json(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.json(item) for item in value]
        return value

    def json_text(self, value: Any) -> Any:
        """Return a copy of a JSON value in which each string and key is as :meth:`text` has it.

        Before it is written, as there an escape can hide where a secret begins. What stands under
        a name such as ``token`` is hidden, and gone from all of it.
        """
        named = [*named_in_json(value), *(one for text in _texts(value) for one in hidden(text)[1])]
        return self.knowing(repeatable(named))._json_text(value, None)

    def _json_text(self, value: Any, name: Name | None) -> Any:
        if isinstance(value, Mapping):
            return {
                self.text(key): self._json_text(item, below)
                for key, item, below in entries(value, name)
            }
        if isinstance(value, (list, tuple)):
            return [self._json_text(item, below) for item, below in items(value, name)]
        if name is not None and is_hidden(name, value):
            return MASK
        return self.text(value) if isinstance(value, str) else value


def tokens_in(body: str) -> list[str]:
    """Return the texts in a reply that are secrets wherever they are repeated, at any depth.

    That is what stands under ``token``, and what looks like a secret under a longer name of that
    kind, or in what stands there. By its name more than that is hidden by :meth:`Redactor.text`.

    Args:
        body: JSON, or what is left of it: cut off, or with something behind it.
    """
    return [one.value for one in hidden(body)[1] if _is_token(one)]


def _is_token(one: Named) -> bool:
    if one.is_direct and one.name == "token":
        return True
    looks_so = _SECRET.fullmatch(one.value) is not None
    if one.is_direct:
        return looks_so and one.name.endswith("token")
    return looks_so and "token" in one.name and any(letter.isdigit() for letter in one.value)


def without_named(value: Any) -> Any:
    """Return a copy of a JSON value without what it tells by its names to be secret.

    In its texts nothing is guessed.
    """
    return Redactor(named_by_keys(value)).json(hidden_in_json(value))


def named_by_keys(value: Any) -> list[str]:
    """Return the secrets that the keys of a JSON value tell, to hide them in the rest of it."""
    return repeatable(named_in_json(value))


def named_in(text: str) -> list[str]:
    """Return the secrets that a text tells by their names, to hide them in what is quoted of it."""
    return repeatable(hidden(text)[1])


def repeatable(named: Iterable[Named]) -> list[str]:
    """Return those of the secrets of a text that are to be hidden in the rest of it too."""
    values = dict.fromkeys(one.value for one in named if not one.is_address)
    found = (value for value in values if _NO_SECRET.fullmatch(value) is None)
    return list(islice(found, _MAX_REPEATED))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
