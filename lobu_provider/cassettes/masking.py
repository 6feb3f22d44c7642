"""Masker: what must not get into a file that is committed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from lobu_provider.cassettes.placeholders import ROLES, pieces
from lobu_provider.config.redact_rules import DEEP, RedactRules, Step
from lobu_provider.redaction import MASK, Redactor, without_named

_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


class Masker:
    """Masks secrets by value and by shape, what the config names, and never a placeholder.

    Args:
        secrets: of the call.
        rules: of the config.

    Attributes:
        has_masked: whether anything was, so that a replay tells less than was recorded. Tokens in
            the create reply do not count: nobody sees them.
    """

    def __init__(
        self, secrets: Iterable[str | None] = (), rules: RedactRules | None = None
    ) -> None:
        self._redactor = Redactor(secrets)
        self._rules = rules or RedactRules()
        self.has_masked = False
        self._hidden: set[str] = set()
        """Ids that stand where a path points."""

    @property
    def has_paths(self) -> bool:
        """Whether the config names any JSON path."""
        return bool(self._rules.paths)

    def text(self, text: str) -> str:
        """Return a text without what is to be hidden."""
        return self._in_pieces(text, self._rules.patterns)

    def words(self, text: str) -> str:
        """Return a word of the protocol, in which only a secret is hidden."""
        return self._in_pieces(text, ())

    def _in_pieces(self, text: str, patterns: Sequence[re.Pattern[str]]) -> str:
        parts = pieces(text)
        parts[::2] = [self._plain(part, patterns) for part in parts[::2]]
        return "".join(parts)

    def raw(self, text: str) -> str:
        """Return a text that may be JSON, in which a secret can be written with escapes."""
        masked = self.text(text)
        if "\\u" not in text:
            return masked
        read = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
        masked_read = self.text(read)
        return masked_read if masked_read != read and masked == text else masked

    def _plain(self, text: str, patterns: Sequence[re.Pattern[str]]) -> str:
        if not text:
            return text
        masked = self._redactor.text(text)
        for pattern in patterns:
            masked = pattern.sub(MASK, masked)
        self.has_masked = self.has_masked or masked != text
        return masked

    def json(self, value: Any) -> Any:
        """Return a copy of a JSON value: paths first, then every text, and keys further down."""
        for path in self._rules.paths:
            value = self._at_path(value, path)
        if isinstance(value, Mapping):  # its own keys are the protocol's
            return {self.words(key): self._texts(item) for key, item in value.items()}
        return self._texts(value)

    def reply(self, value: Any) -> Any:
        """Return a copy of a reply's JSON: without its tokens and addresses too."""
        return self.json(without_named(value))

    def at_paths(self, value: Any) -> Any:
        """Return a copy of a JSON value that still has its ids and times, masked at the paths.

        Ids stay, so that they can be told apart, and :meth:`ids` hides them.
        """
        for path in self._rules.paths:
            value = self._at_path(value, path, keeps_ids=True)
        return value

    def ids(self, ids: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """Return the table of ids: what is hidden in one still tells it from the others.

        Args:
            ids: by placeholder, the id, and the id with the placeholders of others in it.
        """
        told = {}
        for name, (given, shown) in ids.items():
            masked = MASK if given in self._hidden else self.text(shown)
            self.has_masked = self.has_masked or masked != shown
            told[name] = shown if masked == shown else f"{masked}-{name.strip('<>')}"
        return told

    def _texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._texts(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._texts(item) for item in value]
        return value

    def _at_path(
        self, value: Any, path: Sequence[Step], key: str | None = None, *, keeps_ids: bool = False
    ) -> Any:
        if not path:
            if isinstance(value, str) and pieces(value)[::2] == ["", ""]:
                return value
            if keeps_ids and key in ROLES and isinstance(value, str) and value:
                self._hidden.add(value)
                return value
            self.has_masked = self.has_masked or value != MASK
            return MASK

        def below(item: Any, path: Sequence[Step], key: str | None = key) -> Any:
            return self._at_path(item, path, key, keeps_ids=keeps_ids)

        step, rest = path[0], path[1:]
        if step == DEEP:
            return _in_all(below(value, rest), path, below)
        if step is None:
            return _in_all(value, rest, below)
        if isinstance(value, Mapping) and step in value:
            return {k: below(v, rest, k) if k == step else v for k, v in value.items()}
        if isinstance(value, list) and isinstance(step, int) and step < len(value):
            return [below(v, rest) if i == step else v for i, v in enumerate(value)]
        return value


def _in_all(value: Any, path: Sequence[Step], below: Callable[..., Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: below(item, path, key) for key, item in value.items()}
    if isinstance(value, list):
        return [below(item, path) for item in value]
    return value
