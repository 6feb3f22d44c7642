"""Take fields from a mapping of a source file and collect what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lobu_provider.assertions.values import did_you_mean, is_number, show

_MISSING: Final = object()

MAX_NUMBER: Final = 1_000_000_000
"""Larger ones, such as ``.inf``, are a slip; sums of them are no numbers any more."""


class Fields:
    """One mapping of a source file; each fault becomes a line in ``problems``.

    A fault gives the default, so that all faults of a file are told at once.
    """

    def __init__(self, data: Mapping[Any, Any], place: str, problems: list[str]) -> None:
        self._data = data
        self._place = place
        self._problems = problems

    def __contains__(self, key: str) -> bool:
        return self._data.get(key) is not None

    def path(self, key: str) -> str:
        """Return what a field is called in a message, e.g. ``turns[0].content``."""
        return f"{self._place}.{key}" if self._place and key else self._place or key

    def unknown(self, known: Iterable[str]) -> list[str]:
        """Return the keys that the format does not have."""
        return [str(key) for key in self._data if key not in set(known)]

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Make a fault of each key that the format does not have."""
        names = list(known)
        for key in self.unknown(names):
            hint = did_you_mean(key, names)
            self._wrong(key, f"is no key{hint} (keys: {', '.join(names)})")

    def raw(self, key: str) -> Any:
        """Return a value as it stands; ``None`` when it is absent."""
        return self._data.get(key)

    def text(self, key: str, default: str | None = None, *, required: bool = False) -> str | None:
        """Return a text that is not blank."""
        value = self._value(key, required=required)
        if value is _MISSING:
            return default
        if isinstance(value, str) and value.strip():
            return value
        self._expected(key, "a text", value, _quote_hint(value))
        return default

    def texts(self, key: str, *, single: bool = True) -> list[str]:
        """Return a list of texts; with ``single`` one text is a list of one."""
        value = self._value(key)
        if value is _MISSING:
            return []
        given = [value] if single and isinstance(value, str) else value
        if isinstance(given, list) and all(isinstance(v, str) and v.strip() for v in given):
            return given
        wrong = next(
            (v for v in given if not isinstance(v, str)) if isinstance(given, list) else iter(()),
            None,
        )
        what = "a text or a list of texts" if single else "a list of texts"
        self._expected(key, what, value, _quote_hint(wrong))
        return []

    def number(
        self,
        key: str,
        default: float,
        *,
        least: float,
        most: float | None = None,
        above: bool = False,
        whole: bool = False,
        required: bool = False,
    ) -> float:
        """Return a number from ``least`` (or above it) to ``most``, at most :data:`MAX_NUMBER`."""
        value = self._value(key, required=required)
        if value is _MISSING:
            return default
        fits = (
            is_number(value)
            and (value > least if above else value >= least)
            and value <= (MAX_NUMBER if most is None else most)
            and (not whole or value == int(value))
        )
        if fits:
            return int(value) if value == int(value) else float(value)
        kind = "a whole number" if whole else "a number"
        bound = f"above {least:g}" if above else f"from {least:g}"
        upper = f" to {most:g}" if most is not None else f", not over {MAX_NUMBER:,}"
        upper = upper if most is not None or (is_number(value) and value > MAX_NUMBER) else ""
        self._expected(key, f"{kind} {bound}{upper}", value)
        return default

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key)
        if value is _MISSING:
            return default
        if isinstance(value, bool):
            return value
        self._expected(key, "true or false", value)
        return default

    def choice(self, key: str, default: str, choices: Iterable[str]) -> str:
        """Return one of some words."""
        value = self._value(key)
        if value is _MISSING:
            return default
        names = list(choices)
        if value in names:
            return str(value)
        hint = did_you_mean(value, names) if isinstance(value, str) else ""
        self._expected(key, " or ".join(names), value, hint)
        return default

    def mapping(self, key: str) -> Fields:
        """Return the fields of a mapping; empty when it is absent."""
        value = self._value(key)
        if value is not _MISSING and not isinstance(value, Mapping):
            self._expected(key, "a mapping of keys", value)
        found = value if isinstance(value, Mapping) else {}
        return Fields(found, self.path(key), self._problems)

    def entries(self, key: str, *, required: bool = False) -> list[Fields]:
        """Return the mappings of a list, each as fields."""
        value = self._value(key, required=required)
        if value is _MISSING:
            return []
        if not isinstance(value, list) or (required and not value):
            self._expected(key, "a list with at least one entry" if required else "a list", value)
            return []
        found = []
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                found.append(Fields(item, f"{self.path(key)}[{index}]", self._problems))
            else:
                self._expected(f"{key}[{index}]", "a mapping of keys", item)
        return found

    def keys(self) -> list[str]:
        """Return the keys in their order."""
        return [str(key) for key in self._data]

    def problem(self, key: str, text: str) -> None:
        """Add a fault of a field."""
        self._wrong(key, text)

    def _value(self, key: str, *, required: bool = False) -> Any:
        value = self._data.get(key)
        if value is None:
            if required:
                self._wrong(key, "is missing")
            return _MISSING
        return value

    def _expected(self, key: str, what: str, value: Any, hint: str = "") -> None:
        self._wrong(key, f"expected {what}, got {show_value(value)}{hint}")

    def _wrong(self, key: str, text: str) -> None:
        self._problems.append(f"{self.path(key)}: {text}")


def show_value(value: Any) -> str:
    """Return a value of a source file for a message, shortened; also one that JSON has not."""
    return show(plain(value))


def plain(value: Any) -> Any:
    """Return a value with what JSON has not, such as a key that is a number, as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value == value:
        return value
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def _quote_hint(value: Any) -> str:
    return "; put it in quotes" if isinstance(value, (bool, int, float)) else ""
