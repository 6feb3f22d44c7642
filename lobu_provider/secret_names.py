"""Names of secrets, such as ``token`` and ``apiKey``, and what stands under them in a JSON value.

Below such a name every text is a secret, at any depth. Numbers stay, as they are counts, but for
long ones under a name in the singular.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from lobu_provider.secret_forms import MASK

_ENDINGS: Final = ("token", "secret", "password", "passwd", "apikey", "privatekey")
_PLURALS: Final = tuple(f"{ending}s" for ending in _ENDINGS)
_ADDRESSES: Final = frozenset({"sseurl", "messagesurl"})
"""Nobody's business, but no secret that could be looked for elsewhere."""
_WHOLE: Final = _ADDRESSES | {"auth", "authorization"}
_MAX_NAME: Final = 200
_JOINTS: Final = str.maketrans("", "", "-_ ")
"""Left out of a name."""

_NUMBER: Final = re.compile(r"[+-]?\d[\d.,_ ]*(?:[eE][+-]?\d+)?[kKmM%]?")
BARE: Final = re.compile(r"(?<![A-Za-z0-9._~+/=-])(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{6,}")
"""What is a secret without quotation marks: shorter it is a count, without a digit a word."""


class Name(NamedTuple):
    """The name of a secret."""

    text: str
    is_plural: bool

    def hides(self, text: str) -> bool:
        """Return whether a text that stands under it is a secret, and not masked already."""
        return bool(text.strip("*")) and not (self.is_plural and _NUMBER.fullmatch(text))


def name_of(key: str) -> Name | None:
    """Return the name of a secret that a key is; ``None`` for any other key."""
    if len(key) > _MAX_NAME:
        return None
    text = key.lower().translate(_JOINTS)
    if text in _WHOLE or text.endswith(_ENDINGS):
        return Name(text, is_plural=False)
    return Name(text, is_plural=True) if text.endswith(_PLURALS) else None


def name_below(name: Name | None, key: str) -> Name | None:
    """Return under which name of a secret the value of a key stands, itself below ``name``."""
    if name is None:
        return name_of(key)
    inner = name_of(key) if name.is_plural else None
    return name if inner is None or inner.is_plural else inner


class Named(NamedTuple):
    """A secret, and the name that tells of it."""

    name: str
    """In lower case, without ``-``, ``_`` and spaces."""
    value: str
    is_direct: bool
    """Whether it stands right under the name, in quotation marks, in the singular."""

    @property
    def is_address(self) -> bool:
        """Whether it is one of the gateway's own URLs."""
        return self.name in _ADDRESSES


def hidden_in_json(value: Any, name: Name | None = None) -> Any:
    """Return a copy of a JSON value with ``***`` for what :func:`named_in_json` yields.

    Args:
        value: the JSON value.
        name: of a secret, if the value stands under one.
    """
    if isinstance(value, Mapping):
        return {key: hidden_in_json(item, name_below(name, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [hidden_in_json(item, name) for item in value]
    return MASK if name is not None and is_hidden(name, value) else value


def named_in_json(value: Any) -> Iterator[Named]:
    """Yield the secrets of a JSON value by their names. In its texts nothing is looked for."""
    return _named_in_json(value, None, is_direct=False)


def _named_in_json(value: Any, name: Name | None, *, is_direct: bool) -> Iterator[Named]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            found = name_below(name, key)
            direct = found is not name and found is not None and not found.is_plural
            yield from _named_in_json(item, found, is_direct=direct)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _named_in_json(item, name, is_direct=False)
    elif name is not None and is_hidden(name, value):
        yield Named(name.text, str(value), is_direct and isinstance(value, str))


def is_hidden(name: Name, value: Any) -> bool:
    """Return whether a scalar that stands under a name is a secret."""
    if isinstance(value, str):
        return name.hides(value)
    if value is None or isinstance(value, bool):
        return False
    return BARE.fullmatch(str(value)) is not None and name.hides(str(value))
