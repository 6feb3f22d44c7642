"""An assertion of a config in one line, for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lobu_provider.extension.suite import items, mapping
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.trace_assertions import flat_assertions


def assertion_lines(given: Any) -> Iterator[str]:
    """Yield a line for an assertion; for those of a set and of ``turns`` one each."""
    for assertion in flat_assertions([given]):
        kind = str(assertion.get("type", ""))
        if kind == "assert-set":
            continue
        value, config = assertion.get("value"), mapping(assertion.get("config"))
        weight = f" (weight {assertion['weight']})" if "weight" in assertion else ""
        script = re.search(r":(\w+)$", value) if isinstance(value, str) else None
        if script is None or kind.removeprefix("not-") not in ("python", "javascript"):
            yield f"{kind}{_shown(value)}{weight}"
        elif kind.startswith("not-"):
            yield f"not {script[1]}{_shown(config or None)}{weight}"
        elif script[1] == "turns":
            for number, checks in mapping(config.get("turns")).items():
                for check in items(checks):
                    about = mapping(check)
                    detail = _shown(about.get("value", about.get("config")))
                    yield f"turn {number}: {about.get('type', '')}{detail}"
        else:
            yield f"{script[1]}{_shown(config or None)}{weight}"


def _shown(value: Any) -> str:
    return "" if value is None else f" {_short(value)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(json_safe(value))
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:100]}..."
