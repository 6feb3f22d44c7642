"""An assertion of a config in one line, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lobu_provider.extension.suite import mapping
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.trace_assertions import flat_assertions


def assertion_lines(given: Any) -> Iterator[str]:
    """Yield a line for an assertion; for those of a set and of ``turns`` one each, after one for
    the whole where that has a weight or threshold of its own."""
    for assertion in flat_assertions([given]):
        kind = str(assertion.get("type", ""))
        value, config = assertion.get("value"), mapping(assertion.get("config"))
        rules = _rules(assertion)
        script = re.search(r":(\w+)$", value) if isinstance(value, str) else None
        if kind == "assert-set":
            yield from [f"{kind}{rules}"] if rules else []
        elif script is None or kind.removeprefix("not-") not in ("python", "javascript"):
            yield f"{kind}{_shown(value)}{rules}"
        elif kind.startswith("not-"):
            yield f"not {script[1]}{_shown(config or None)}{rules}"
        elif script[1] == "turns" and isinstance(groups := config.get("turns"), Mapping):
            yield from [f"turns{rules}"] if rules else []
            for number, checks in groups.items():
                yield from (f"turn {number}: {_turn_check(one)}" for one in _as_list(checks))
        else:
            yield f"{script[1]}{_shown(config or None)}{rules}"


def _turn_check(check: Any) -> str:
    if not isinstance(check, Mapping):
        return _short(check)
    detail = check.get("value", check.get("config"))
    return f"{check.get('type', '')}{_shown(detail)}{_rules(check)}"


def _rules(assertion: Mapping[str, Any]) -> str:
    given = [f"{key} {assertion[key]}" for key in ("weight", "threshold") if key in assertion]
    return f" ({', '.join(given)})" if given else ""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shown(value: Any) -> str:
    return "" if value is None else f" {_short(value)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(json_safe(value))
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:100]}..."
