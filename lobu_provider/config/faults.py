"""Say what is wrong with a config block: the key, the value found, what was expected, the fix."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from lobu_provider.config.model import BESIDE_CONFIG, known_keys
from lobu_provider.errors import config_error
from lobu_provider.json_safe import json_safe

_SECRET_KEYS: Final = frozenset(
    {"token", "tokenEnv", "tokenFile", "tokenCommand", "headers"} | {"otlpBackendHeaders"}
)
"""Keys whose value is never repeated in a message: it is a secret, or one got there by mistake.
promptfoo puts a file's content in the place of ``file://token.json``, for example."""


def unknown_keys(keys: Iterable[Any]) -> str:
    """Return what is wrong with keys that neither we nor promptfoo know, with the nearest ones."""
    by_lower = {key.lower(): key for key in known_keys()}
    lines = []
    for key in keys:
        near = get_close_matches(str(key).lower(), list(by_lower), n=1, cutoff=0.6)
        hint = f" Did you mean {by_lower[near[0]]!r}?" if near else ""
        if key in BESIDE_CONFIG:
            hint = " promptfoo reads it beside 'config', at the provider itself."
        lines.append(f"config.{key} is not a key of this provider.{hint}")
    return "\n".join(lines) + f" Known keys: {', '.join(known_keys())}."


def left_template(key: str, value: Any) -> str | None:
    """Return which text of a value still holds a template, and what to do about its variable.

    promptfoo leaves ``{{env.X}}`` when X is unset.
    """
    texts = ((path, text) for path, text in _strings(value, key) if "{{" in text)
    found = next(texts, None)
    return None if found is None else _template(found[1], f"config.{found[0]}", key in _SECRET_KEYS)


def refuse_template(text: str, source: str) -> None:
    """Raise when one text from ``source`` still holds a template.

    Raises:
        ConfigError: says what to do about its variable.
    """
    if "{{" in text:
        raise config_error(_template(text, source, is_secret=False))


def _template(text: str, source: str, is_secret: bool) -> str:
    return (
        f"{source}: {'its value' if is_secret else shown(text)} still holds a template, so "
        "promptfoo found no such environment variable. Set the variable, remove the key, or give "
        "a default: \"{{env.NAME | default('', true)}}\"."
    )


def _strings(value: Any, path: str) -> list[tuple[str, str]]:
    if isinstance(value, str):
        return [(path, value)]
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, Mapping) else ()
    if isinstance(value, list):
        items = ((str(index), item) for index, item in enumerate(value))
    prefix = f"{path}." if path else ""
    return [found for key, item in items for found in _strings(item, f"{prefix}{key}")]


def wrong_values(exc: ValidationError) -> Iterator[tuple[str, str]]:
    """Yield pydantic's complaints in the words of a YAML file, each with its key."""
    for fault in exc.errors(include_url=False):
        yield str(fault["loc"][0]), _wrong_value(fault)


def _wrong_value(fault: Any) -> str:
    # Branches of a union are named after types; those are no part of the path in YAML.
    names = [str(part) for part in fault["loc"]]
    names = [names[0], *(name for name in names[1:] if not _BRANCH.fullmatch(name))]
    path = ".".join(names)
    value = "" if names[0] in _SECRET_KEYS else f"; got {shown(fault['input'])}"
    return f"config.{path}: {_expected(names[0], fault)}{value}.{_advice(fault)}"


_MILLISECONDS: Final = "expected a positive number of milliseconds"

_BRANCH: Final = re.compile(r"str|list\[.*\]|constrained-str|HeaderFromEnv")

_EXPECTED: Final = {
    "headers": "expected a mapping of header names to strings or {env: NAME}",
    "otlpBackendHeaders": "expected a mapping of header names to {env: NAME}, so that promptfoo "
    "stores no secret",
    "tokenCommand": "expected a command as one string, or as a list of strings",
    "retrievalTools": "expected a list of tool names",
    "timeoutMs": _MILLISECONDS,
    "turnTimeoutMs": _MILLISECONDS,
    "idleTimeoutMs": _MILLISECONDS,
    "sessionStartGapMs": "expected a number of milliseconds from 0 to 60000",
    "retries": "expected a whole number from 0 to 5",
    "maxToolCalls": "expected a whole number of at least 1",
    "maxConcurrentSessions": "expected a whole number of at least 1",
    "maxMetadataKb": "expected a whole number of kilobytes of at least 1",
    "answers": "expected a mapping of question patterns to the option to answer with",
    "stopOnTool": "expected the name of a tool, or a list of names",
    "stringTranscript": "expected 'error' or 'prompt'",
    "tracing": "expected 'auto', 'required', 'best-effort' or 'off'",
    "cassetteMode": "expected 'off', 'record', 'replay' or 'auto'",
    "cassetteSpeed": "expected a number above 0, e.g. 1 for the recorded time",
    "cassetteRedact": "expected a list of regular expressions and JSON paths",
    "traceArguments": "expected 'full', 'redacted' or 'none'",
}


def _expected(key: str, fault: Any) -> str:
    kind = str(fault["type"])
    if key in _EXPECTED:
        return _EXPECTED[key]
    return {"string_type": "expected a string", "bool_type": "expected true or false"}.get(
        kind, str(fault["msg"])
    )


def _advice(fault: Any) -> str:
    value = fault["input"]
    if fault["type"] == "bool_type" and isinstance(value, str):
        return " Write it without quotes."
    if fault["type"] in ("float_type", "int_type") and isinstance(value, str):
        number = value.strip().replace(".", "", 1)
        return " Write it without quotes." if number.isdigit() else " For example: 2000."
    if fault["type"] == "string_type" and isinstance(value, (bool, int, float)):
        return " Put it in quotes."
    return ""


def shown(value: Any) -> str:
    """Return a value as a message quotes it, at most 80 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = repr(json_safe(value))  # long integers cannot be printed, deep nesting not walked
    return text if len(text) <= 80 else f"{text[:77]}..."
