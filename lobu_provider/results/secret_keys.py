"""Hide what stands under the name of a secret: in arguments, results and options of any tool."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from lobu_provider.redaction import MASK

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET: Final = re.compile(
    r"auth|authorization|authentication|bearer|jwt|pwd|pass|pin|otp|mfa|passphrases?|cookies?"
    r"|credentials?|creds?|.*(?:secret|password|passwd|passcode|token)s?"
    r"|.*(?:api|private|access|secret|signing|encryption|ssh|auth|master)keys?"
)
_TOKENS: Final = re.compile(r".*tokens?")
"""Words that may also be about a model's tokens, which are counted: ``tokens``, ``tokenLimit``."""
_COUNTS: Final = frozenset(
    {"count", "limit", "max", "min", "usage", "used", "budget", "total", "number", "size"}
)


def masked(value: Any) -> Any:
    """Return a JSON value in which whatever stands under the name of a secret is ``***``."""
    if isinstance(value, Mapping):
        return {key: MASK if _is_secret(key, item) else masked(item) for key, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list) else value


def _is_secret(key: Any, value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return False
    words = _secret_words(str(key))
    is_number = str(value).isdecimal()
    if is_number and all(_TOKENS.fullmatch(word) for word in words):
        counted = _COUNTS.intersection(_words(str(key)))
        return not counted and any(not word.endswith("s") for word in words)
    return bool(words)


@lru_cache(maxsize=10_000)
def _words(key: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(key))


@lru_cache(maxsize=10_000)
def _secret_words(key: str) -> tuple[str, ...]:
    """Return the words, alone or two in a row, that are names of secrets."""
    words = _words(key)
    pairs = [f"{one}{two}" for one, two in pairwise(words)]
    return tuple(word for word in (*words, *pairs) if _SECRET.fullmatch(word))
