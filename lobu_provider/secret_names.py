"""Names of secrets, such as ``token`` and ``apiKey``, and what stands under them in a JSON value.

Below such a name every text is a secret, at any depth. Numbers stay, as they are counts, but for
long ones under a name in the singular.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lobu_provider.secret_forms import MASK

_ENDINGS: Final = (
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "authorization",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
)
_PLURALS: Final = tuple(f"{ending}s" for ending in _ENDINGS)
_ADDRESSES: Final = frozenset({"sseurl", "messagesurl"})
"""Nobody's business, but no secret that could be looked for elsewhere."""
_WHOLE: Final = _ADDRESSES | {"auth", "cookie", "jwt", "pwd", "setcookie"}
_MAX_NAME: Final = 200
_JOINTS: Final = str.maketrans("", "", "-_ ./")
"""Left out of a name."""

_NUMBER: Final = re.compile(r"[+-]?\d[\d.,_ ]*(?:[eE][+-]?\d+)?[kKmM%]?")
_PLACEHOLDER: Final = re.compile(r"\$\([^)]*\)|\$?\{[^}]*\}|\{\{[^}]*\}\}|<[^>]*>")
"""What says where a secret comes from, as in ``export TOKEN="$(lobu token --raw)"``."""
BARE: Final = re.compile(r"(?<![A-Za-z0-9._~+/=-])(?=[A-Za-z._~+/=-]*\d)[A-Za-z0-9._~+/=-]{6,}")
"""What is a secret without quotation marks: shorter it is a count, without a digit a word."""


class Name(NamedTuple):
    """The name of a secret."""

    text: str
    is_plural: bool

    def hides(self, text: str) -> bool:
        """Return whether a text that stands under it is a secret, and not masked already."""
        if not text.strip("*") or _PLACEHOLDER.fullmatch(text):
            return False
        return not (self.is_plural and _NUMBER.fullmatch(text))


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


def entries(value: Mapping[str, Any], name: Name | None) -> Iterator[tuple[str, Any, Name | None]]:
    """Yield keys and values of a JSON object, and under which name of a secret each value stands.

    That of ``{"name": "token", "value": "..."}`` too.

    Args:
        value: the object.
        name: under which it stands itself.
    """
    told = None
    if len(value) <= _MAX_KEYS_OF_A_FIELD and not _VALUE_KEYS.isdisjoint(value):
        told = next((name_of(v) for k, v in value.items() if tells_name(k, v)), None)
    for key, item in value.items():
        yield key, item, (key in _VALUE_KEYS and told) or name_below(name, key)


def tells_name(key: str, value: Any) -> bool:
    """Return whether a key says that its value is the name of what stands beside it."""
    return key.lower() in NAME_KEYS and isinstance(value, str) and name_of(value) is not None


NAME_KEYS: Final = frozenset({"name", "key", "header"})
"""Keys whose value is a name; beside it stands ``value``."""
_VALUE_KEYS: Final = frozenset({"value", "Value"})
_MAX_KEYS_OF_A_FIELD: Final = 10


def items(value: Sequence[Any], name: Name | None) -> Iterator[tuple[Any, Name | None]]:
    """Yield the items of a JSON list, and under which name of a secret each stands.

    That of ``["token", "..."]`` too.
    """
    if len(value) == 2 and is_pair(*value):
        yield value[0], name
        yield value[1], name or name_of(value[0])
        return
    for item in value:
        yield item, None if name is not None and is_said(name, item) else name


def is_pair(key: Any, value: Any) -> bool:
    """Return whether two values are the name of a secret and what surely is one."""
    if not isinstance(key, str) or not isinstance(value, str):
        return False
    return BARE.fullmatch(value) is not None and name_of(key) is not None


def is_said(name: Name, item: Any) -> bool:
    """Return whether an item of a list under a name is what is wrong with it.

    As in ``{"fieldErrors": {"password": ["must be longer than that"]}}``.
    """
    return not name.is_plural and isinstance(item, str) and _SAID.fullmatch(item) is not None


_SAID: Final = re.compile(r"[A-Z][a-z]{2,14}\.?|[A-Za-z]{1,15}(?: [\w'(),.:-]{1,20}){2,50}")
"""One word, or three and more."""


def hidden_in_json(value: Any, name: Name | None = None) -> Any:
    """Return a copy of a JSON value with ``***`` for what :func:`named_in_json` yields.

    Args:
        value: the JSON value.
        name: of a secret, if the value stands under one.
    """
    if isinstance(value, Mapping):
        return {key: hidden_in_json(item, below) for key, item, below in entries(value, name)}
    if isinstance(value, (list, tuple)):
        return [hidden_in_json(item, below) for item, below in items(value, name)]
    return MASK if name is not None and is_hidden(name, value) else value


def named_in_json(value: Any) -> Iterator[Named]:
    """Yield the secrets of a JSON value by their names. In its texts nothing is looked for."""
    return _named_in_json(value, None, is_direct=False)


def _named_in_json(value: Any, name: Name | None, *, is_direct: bool) -> Iterator[Named]:
    if isinstance(value, Mapping):
        for _, item, below in entries(value, name):
            direct = below is not name and below is not None and not below.is_plural
            yield from _named_in_json(item, below, is_direct=direct)
    elif isinstance(value, (list, tuple)):
        for item, below in items(value, name):
            yield from _named_in_json(item, below, is_direct=False)
    elif name is not None and is_hidden(name, value):
        yield Named(name.text, str(value), is_direct and isinstance(value, str))


def is_hidden(name: Name, value: Any) -> bool:
    """Return whether a scalar that stands under a name is a secret."""
    if isinstance(value, str):
        return name.hides(value)
    if value is None or isinstance(value, bool):
        return False
    return BARE.fullmatch(str(value)) is not None and name.hides(str(value))
