"""Fill ``{{name}}`` in an assertion's config from the test's vars, which promptfoo does not do.

A text that is nothing but ``{{name}}`` becomes the variable itself, so a number stays a number.
What cannot be filled in is a problem: left as it is, it would make a negative check pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.assertions.values import did_you_mean, json_text, show, sorted_keys

_FIELD: Final = re.compile(r"\{\{([^{}]*)\}\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")


def fill(value: Any, variables: Mapping[str, Any], problems: list[str]) -> Any:
    """Return a copy of a config value with its fields filled in; problems are appended."""
    if isinstance(value, Mapping):
        return {key: fill(value[key], variables, problems) for key in sorted_keys(value)}
    if isinstance(value, list):
        return [fill(item, variables, problems) for item in value]
    if not isinstance(value, str) or not ("{{" in value or "{%" in value):
        return value
    whole = _FIELD.fullmatch(value)
    if whole is not None:
        return _look_up(whole[1], variables, problems)
    rest = _FIELD.sub("", value)
    if "{{" in rest or "{%" in rest:
        problems.append(f"{show(value)}: only {{{{name}}}} is filled in, no other template")
        return value
    return _FIELD.sub(lambda found: _text(found[1], variables, problems), value)


def _text(field: str, variables: Mapping[str, Any], problems: list[str]) -> str:
    before = len(problems)
    value = _look_up(field, variables, problems)
    if value is None and len(problems) == before:
        problems.append(f"{{{{{field.strip(' ')}}}}} is null, and stands inside a text")
    return value if isinstance(value, str) else json_text(value)


def _look_up(field: str, variables: Mapping[str, Any], problems: list[str]) -> Any:
    name = field.strip(" ")
    if not _NAME.fullmatch(name):
        problems.append(
            f"{{{{{field}}}}}: only names of variables are filled in, such as {{{{order}}}} or "
            "{{order.id}}"
        )
        return ""
    value: Any = variables
    for part in name.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", part):
            if int(part) >= len(value):
                return _missing(name, variables, problems)
            value = value[int(part)]
        else:
            return _missing(name, variables, problems)
    return value


def _missing(name: str, variables: Mapping[str, Any], problems: list[str]) -> str:
    if name.startswith("env."):
        problems.append(f"{{{{{name}}}}}: this environment variable is not set")
    else:
        hint = did_you_mean(name, sorted_keys(variables))
        problems.append(f"{{{{{name}}}}}: the test has no such variable{hint}")
    return ""
