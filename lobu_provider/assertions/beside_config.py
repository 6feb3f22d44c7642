"""Options of ours that stand beside ``config``, where promptfoo ignores them.

YAML that is indented one level too little makes ``args`` a key of the assertion. The check never
sees it, and would pass without what its author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.assertions.options import CHECKS
from lobu_provider.assertions.values import bare_word, distance, same, sorted_keys

_PROMPTFOO_KEYS: Final = frozenset(
    {
        "assert", "config", "contextTransform", "metric", "provider", "rubricPrompt", "threshold",
        "transform", "type", "value", "weight",
    }
)  # fmt: skip
"""What promptfoo (0.121 and 0.123) reads of an assertion or a set of them."""

_FOR_CONFIG: Final = frozenset(
    {
        "argument", "arguments", "cfg", "conf", "config", "configs", "configuration", "option",
        "options", "opts", "param", "parameter", "parameters", "params", "setting", "settings",
    }
)  # fmt: skip
"""Words that people write for ``config``, as :func:`bare_word` has them."""

_OPTIONS: Final = {bare_word(option): option for kinds in CHECKS.values() for option in kinds}

_SCRIPTS: Final = frozenset({"python", "javascript", "ruby"})
"""Types that run the file or package of their ``value``; promptfoo goes by its ending."""

_STARTS_AS_KEY: Final = re.compile("[A-Za-z]")
"""``_times`` and ``$note`` are notes: people switch a key off like that."""


def own_assertions(check: str, config: Any, given: Any) -> Iterator[Mapping[str, Any]]:
    """Yield those of a test's assertions that may be the one that is judged.

    promptfoo does not tell which one it is: they are those of the check with the same options.

    Args:
        check: a name of :data:`CHECKS`.
        config: the options, as promptfoo hands them over.
        given: the ``assert`` of the test.
    """
    for item in given if isinstance(given, list) else []:
        if not isinstance(item, Mapping):
            continue
        if check_of(item) == check and same(_config(item), config):
            yield item
        yield from own_assertions(check, config, item.get("assert"))


def check_of(assertion: Mapping[str, Any]) -> str | None:
    """Return the check that an assertion names after its file or package, if it is one of ours."""
    kind, value = assertion.get("type"), assertion.get("value")
    if not isinstance(kind, str) or kind.removeprefix("not-") not in _SCRIPTS:
        return None
    if not isinstance(value, str) or ":" not in value:
        return None
    name = value.rpartition(":")[2]
    return name if name in CHECKS else None


def _config(assertion: Mapping[str, Any]) -> Any:
    return {} if assertion.get("config") is None else assertion["config"]


def misplaced(check: str, assertion: Mapping[str, Any]) -> list[str]:
    """Return which keys of an assertion were meant to stand under its ``config``."""
    problems = [
        _problem(check, key, assertion[key])
        for key in sorted_keys(assertion)
        if isinstance(key, str) and key not in _PROMPTFOO_KEYS and _STARTS_AS_KEY.match(key)
    ]
    return [problem for problem in problems if problem is not None]


def _problem(check: str, key: str, value: Any) -> str | None:
    word = bare_word(key)
    place = f"{key} stands beside type and value, where promptfoo ignores it"
    option = _OPTIONS.get(word)
    if option is None:
        if not isinstance(value, Mapping) or not value or not is_for_config(word):
            return None
        return f"{place}: move what it holds under config"
    if option not in CHECKS[check]:
        known = ", ".join(sorted_keys(CHECKS[check]))
        return f"{place}, and {check} has no such option (under config: {known})"
    return f"{place}: move it under config" + ("" if key == option else f", as {option}")


def is_for_config(word: str) -> bool:
    """Return whether a bare word was probably written for ``config``."""
    return word in _FOR_CONFIG or distance(word, "config") <= 2
