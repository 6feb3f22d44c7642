"""Find what promptfoo's suite loses on its way through JSON: functions.

What a Python hook returns takes the place of prompts, tests, defaults, filters and metrics, so a
suite with functions in it must not be returned: an assertion would lose what it asserts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.extension.suite import items, mapping, places


def first_hole(suite: Mapping[str, Any]) -> str | None:
    """Return where a function has been, in words; ``None`` when none can be seen."""
    return next(_holes(suite), None)


def _holes(suite: Mapping[str, Any]) -> Iterator[str]:
    everywhere = places(suite)
    for name, place in everywhere:
        yield from (f"an assertion of {name}" for _ in _empty(place.get("assert")))
        options = mapping(place.get("options"))
        for holder in (place, options):
            provider = holder.get("provider")
            if isinstance(provider, Mapping) and _is_emptied(provider):
                yield f"the provider of {name}"
    for metric in items(suite.get("derivedMetrics")):
        if "value" not in mapping(metric):
            yield "a derived metric"
    for text in _texts([suite.get("prompts"), everywhere]):
        yield from (f"the template filter {name!r}" for name in _filters(text) - _BUILT_IN)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _filters(text: str) -> set[str]:
    """Return the names of the filters that a template uses."""
    codes = (" ".join(parts) for parts in _CODE.findall(text))
    return {name for code in codes for name in _FILTER.findall(_QUOTED.sub("''", code))}


def _empty(assertions: Any) -> Iterator[None]:
    for assertion in items(assertions):
        if not isinstance(assertion, Mapping):
            yield None
            continue
        kind = str(assertion.get("type", "")).removeprefix("not-")
        provider = assertion.get("provider")
        if isinstance(provider, Mapping) and _is_emptied(provider):
            yield None
        if kind == "assert-set":
            yield from _empty(assertion.get("assert"))
        elif "value" not in assertion and not _stands_alone(kind):
            yield None


def _stands_alone(kind: str) -> bool:
    return kind in _WITHOUT_VALUE or kind.startswith("promptfoo:")  # the latter for red teams


def _is_emptied(provider: Mapping[str, Any]) -> bool:
    """Whether it was an object with methods: all that stays of one has neither id nor kinds."""
    if isinstance(provider.get("id"), str):
        return False
    # {'openai:gpt-4': {config: ...}} is promptfoo's third way to name one
    return not (set(provider) <= _KINDS and provider) and not any(":" in key for key in provider)


_KINDS: Final = frozenset({"text", "embedding", "classification", "moderation"})


_CODE: Final = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}", re.DOTALL)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_FILTER: Final = re.compile(r"\|\s*([A-Za-z_]\w*)")

_BUILT_IN: Final = frozenset(
    """
    abs batch capitalize center default d dictsort dump e escape filesizeformat first float
    forceescape groupby indent int join last length list lower nl2br random reject rejectattr
    replace reverse round safe select selectattr slice sort string striptags sum title trim
    truncate upper urlencode urlize wordcount load
    """.split()  # noqa: SIM905 - a list of eighty strings is not read
)
"""Nunjucks' own filters, and promptfoo's."""

_WITHOUT_VALUE: Final = frozenset(
    """
    answer-relevance contains-html contains-json contains-sql contains-xml
    context-faithfulness context-recall context-relevance conversation-relevance cost
    finish-reason guardrails human is-html is-json is-refusal is-sql is-tool-call
    is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml latency
    max-score moderation perplexity perplexity-score pi select-best
    trace-error-spans trace-span-count trace-span-duration word-count
    """.split()  # noqa: SIM905
)
"""Assertions that mean something without a value."""
