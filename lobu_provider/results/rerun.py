"""The command that runs one test again, and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lobu_provider.json_safe import json_key
from lobu_provider.results.documents import plain
from lobu_provider.results.outcomes import mapping
from lobu_provider.results.provider_references import is_meant

_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|]")


def rerun_command(
    row: Mapping[str, Any],
    tests: Sequence[Any] | None,
    *,
    config: str | None = None,
    several_providers: bool = True,
    several_prompts: bool = False,
) -> tuple[str, bool]:
    """Return promptfoo's command line, and whether it is known to select this test alone.

    By the description where that is one of a kind, else by the test's place in the config.

    Args:
        row: promptfoo's row.
        tests: the config's tests before expansion, where they are known.
        config: the config file, if it is not the one that promptfoo finds by itself.
        several_providers: whether the run had more than one.
        several_prompts: the same of prompts.
    """
    test = mapping(row.get("testCase"))
    known = [test, *map(mapping, tests or ())]
    filters = [_test_filter(test, tests)]
    if several_providers:
        filters.append(_provider_filter(mapping(row.get("provider")), known))
    if several_prompts:
        filters.append(_prompt_filter(mapping(row.get("prompt")), known))
    words = ["promptfoo", "eval", *(["-c", config] if config else [])]
    words += [word for given, _ in filters for word in given]
    return shlex.join(words), all(exact for _, exact in filters)


_Filter = tuple[list[str], bool]
"""Words of the command line, and whether they are known to select what is wanted alone."""


def _test_filter(test: Mapping[str, Any], tests: Sequence[Any] | None) -> _Filter:
    description = test.get("description")
    named = isinstance(description, str) and description != ""
    place = _place(test, tests) if tests is not None else None
    alike = sum(mapping(one).get("description") == description for one in tests or ())
    whole = place is not None and tests is not None and not _is_split(mapping(tests[place]), test)
    if named and (tests is None or alike == 1 or place is None):
        return ["--filter-pattern", f"^{_quoted(str(description))}$"], whole and alike == 1
    return ["--filter-range", f"{place}:{place + 1}"] if place is not None else [], whole


def _provider_filter(provider: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> _Filter:
    """The first of ``tests`` is the one to run. A filter is left out when a test names a provider
    that it takes away, because promptfoo ends with an error then."""
    names = [name for key in ("label", "id") if isinstance(name := provider.get(key), str)]
    references = (one for test in tests for one in _listed(test.get("providers")))
    if all(is_meant(reference, names) for reference in references):
        return ["--filter-providers", _provider_pattern(provider)], True
    return [], tests[0].get("providers") == [provider.get("label")]


def _prompt_filter(prompt: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> _Filter:
    """The same for prompts."""
    label = prompt.get("label")
    if isinstance(label, str) and not any(_listed(test.get("prompts")) for test in tests):
        return ["--filter-prompts", f"^{_quoted(label)}$"], True
    return [], tests[0].get("prompts") == [label]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _quoted(text: str) -> str:
    """Return a JavaScript pattern that means the text itself; a line end is any character."""
    return _SPECIAL.sub(lambda found: "\\" + found.group(), text).replace("\n", ".")


def _provider_pattern(provider: Mapping[str, Any]) -> str:
    label, identifier = provider.get("label"), provider.get("id")
    if isinstance(label, str) and label:
        return f"^{_quoted(label)}$"
    return f"{_quoted(str(identifier).rpartition('/')[2])}$"


def _place(test: Mapping[str, Any], tests: Sequence[Any]) -> int | None:
    """Return the place of the only test in the config that the row can come from."""
    places = [place for place, one in enumerate(tests) if _may_be(mapping(one), test)]
    if len(places) > 1:
        wanted = json_key(plain(test.get("assert")))
        same = [n for n in places if json_key(plain(mapping(tests[n]).get("assert"))) == wanted]
        places = same or places
    return places[0] if len(places) == 1 else None


def _is_split(written: Mapping[str, Any], test: Mapping[str, Any]) -> bool:
    """Whether promptfoo makes several tests of the one in the config; it can only select all."""
    given = mapping(test.get("vars"))
    return any(
        isinstance(value, list) and given.get(key) != value
        for key, value in mapping(written.get("vars")).items()
    )


def _may_be(written: Mapping[str, Any], test: Mapping[str, Any]) -> bool:
    if written.get("description") != test.get("description"):
        return False
    given = mapping(test.get("vars"))
    return all(
        given.get(key) == value or (isinstance(value, list) and given.get(key) in value)
        for key, value in mapping(written.get("vars")).items()
    )
