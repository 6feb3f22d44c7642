"""Whether a tool call has the arguments that a config wants, and where it differs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lobu_provider.assertions.patterns import compile_pattern, pattern_problems
from lobu_provider.assertions.values import (
    contains,
    did_you_mean,
    is_number,
    json_text,
    same,
    show,
    sorted_keys,
)

OPERATORS: Final = ("$any", "$contains", "$flags", "$regex")

_INDEX: Final = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True)
class ArgumentRules:
    """How arguments are compared."""

    exact: bool = False
    """Whether keys beside the wanted ones are a difference."""
    text_contains: bool = False
    """Whether a text need only contain the wanted one, ignoring case."""
    any_kind: bool = False
    """Whether a number or boolean and the text of it are the same."""
    ignore: Sequence[str] = ()
    """Keys at any depth, and paths such as ``order.id`` and ``items[].id``, that do not count."""

    def ignores(self, path: str) -> bool:
        """Return whether what stands at ``path`` does not count."""
        general = _INDEX.sub("[]", path)
        last = general.rpartition(".")[2]
        return any(one in (path, general, last) for one in self.ignore)


def check_arguments(wanted: Any, place: str = "args") -> list[str]:
    """Return what is wrong with wanted arguments."""
    problems: list[str] = []
    if isinstance(wanted, list):
        for index, item in enumerate(wanted):
            problems += check_arguments(item, f"{place}[{index}]")
    elif isinstance(wanted, Mapping):
        operators = [key for key in sorted_keys(wanted) if key.startswith("$")]
        if operators:
            return _check_operators(wanted, operators, place)
        for key in sorted_keys(wanted):
            problems += check_arguments(wanted[key], f"{place}.{key}")
    return problems


def _check_operators(wanted: Mapping[str, Any], operators: list[str], place: str) -> list[str]:
    for key in operators:
        if key not in OPERATORS:
            hint = did_you_mean(key, OPERATORS)
            return [f"{place}: {show(key)} is none of {', '.join(OPERATORS)}{hint}"]
    kinds = [key for key in operators if key != "$flags"]
    flags_alone = "$flags" in operators and kinds != ["$regex"]
    if len(kinds) != 1 or len(operators) != len(wanted) or flags_alone:
        return [f"{place}: write one of $any, $contains and $regex alone, $regex also with $flags"]
    kind, value = kinds[0], wanted[kinds[0]]
    if kind == "$any":
        return [] if value is True else [f"{place}.$any: expected true, got {show(value)}"]
    if not isinstance(value, str) or not value:
        return [f"{place}.{kind}: expected a text, got {show(value)}{_date_hint(value)}"]
    flags = wanted.get("$flags", "")
    if flags not in ("", "i"):
        return [f'{place}.$flags: expected "i", got {show(flags)}']
    if kind == "$regex":
        return [f"{place}.$regex: {problem}" for problem in pattern_problems(value, flags)]
    return []


def differences(wanted: Any, actual: Any, rules: ArgumentRules, path: str = "") -> list[str]:
    """Return where ``actual`` differs from ``wanted``; nothing when it fits.

    Args:
        wanted: checked by :func:`check_arguments`.
        actual: what was sent.
        rules: how they are compared.
        path: where both stand in the whole.
    """
    if path and rules.ignores(path):
        return []
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return _by_operator(wanted, actual, rules, path)
        return _of_objects(wanted, actual, rules, path)
    if isinstance(wanted, list):
        return _of_lists(wanted, actual, rules, path)
    if rules.text_contains and isinstance(wanted, str):
        fits = _contains(actual, wanted, rules)
        return [] if fits else [_differs(path, f"a text with {show(wanted)}", actual)]
    fits = same(wanted, actual) or (rules.any_kind and _written_alike(wanted, actual))
    return [] if fits else [_differs(path, show(wanted), actual)]


def _written_alike(wanted: Any, actual: Any) -> bool:
    text = _as_text(wanted)
    return text is not None and text == _as_text(actual)


def _contains(actual: Any, wanted: str, rules: ArgumentRules) -> bool:
    text = _as_text(actual) if rules.any_kind else actual
    return isinstance(text, str) and contains(text, wanted)


def _of_objects(
    wanted: Mapping[str, Any], actual: Any, rules: ArgumentRules, path: str
) -> list[str]:
    if not isinstance(actual, Mapping):
        return [_differs(path, show(wanted) + _date_hint(wanted), actual)]
    found: list[str] = []
    for key in sorted_keys(wanted):
        at = _join(path, key)
        if key in actual:
            found += differences(wanted[key], actual[key], rules, at)
        elif not rules.ignores(at):
            expected = _show_wanted(wanted[key]) + _date_hint(wanted[key])
            found.append(f"{at}: expected {expected}, but it is missing")
    if rules.exact:
        for key in sorted_keys(actual):
            at = _join(path, key)
            if key not in wanted and not rules.ignores(at):
                found.append(f"{at}: {show(actual[key])} was not expected")
    return found


def _of_lists(wanted: list[Any], actual: Any, rules: ArgumentRules, path: str) -> list[str]:
    if not isinstance(actual, list) or len(actual) != len(wanted):
        return [_differs(path, show(wanted), actual)]
    return [
        difference
        for index, (one, other) in enumerate(zip(wanted, actual, strict=True))
        for difference in differences(one, other, rules, f"{path}[{index}]")
    ]


def _by_operator(
    wanted: Mapping[str, Any], actual: Any, rules: ArgumentRules, path: str
) -> list[str]:
    if "$any" in wanted:
        return []
    if "$contains" in wanted:
        fits = _contains(actual, wanted["$contains"], rules)
    else:
        pattern = compile_pattern(wanted["$regex"], wanted.get("$flags", ""))
        text = _as_text(actual)
        fits = text is not None and pattern.found_in(text)
    return [] if fits else [_differs(path, _show_wanted(wanted), actual)]


def _date_hint(wanted: Any) -> str:
    empty = isinstance(wanted, Mapping) and not wanted
    return " (YAML: a date without quotes arrives as {}; put it in quotes)" if empty else ""


def _as_text(value: Any) -> str | None:
    """What a pattern is searched in: texts, numbers and booleans."""
    if isinstance(value, str):
        return value
    return json_text(value) if is_number(value) or isinstance(value, bool) else None


def _show_wanted(wanted: Any) -> str:
    if isinstance(wanted, Mapping):
        if "$any" in wanted:
            return "any value"
        if "$contains" in wanted:
            return f"a text with {show(wanted['$contains'])}"
        if "$regex" in wanted:
            return f"a match of /{wanted['$regex']}/{wanted.get('$flags', '')}"
    return show(wanted)


def _differs(path: str, wanted: str, actual: Any) -> str:
    return f"{path or 'the input'}: expected {wanted}, got {show(actual)}"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
