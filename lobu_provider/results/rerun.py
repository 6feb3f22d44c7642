"""The command that runs one test again, and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from lobu_provider.json_safe import json_key
from lobu_provider.results.documents import plain
from lobu_provider.results.outcomes import mapping
from lobu_provider.results.provider_references import is_meant

_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|]")

_OF_SCENARIO: Final = re.compile(r"__scenario_\d+__$")
"""The ``conversationId`` that promptfoo gives a scenario's tests where they have none."""


class Rerun(NamedTuple):
    """How to run a test again."""

    command: str
    is_exact: bool
    """Whether it is known to select this test alone, with those before it that it needs."""
    begins_anew: bool
    """Whether a conversation goes on in this test and the command does not select its begin."""


def rerun_command(
    row: Mapping[str, Any],
    tests: Sequence[Any] | None,
    *,
    scenario_tests: Sequence[Any] = (),
    config: str | None = None,
    several_providers: bool = True,
    several_prompts: bool = False,
) -> Rerun:
    """Return promptfoo's command line.

    By the description where that is one of a kind, else by the test's place in the config. Tests
    before it with the same ``metadata.conversationId`` are selected too.

    Args:
        row: promptfoo's row.
        tests: the config's own tests before expansion, where they are known.
        scenario_tests: those of its scenarios: a pattern selects among them too, and a range
            counts them after its own.
        config: the config file, if it is not the one that promptfoo finds by itself.
        several_providers: whether the run had more than one.
        several_prompts: the same of prompts.
    """
    test = mapping(row.get("testCase"))
    known = [test, *map(mapping, [*(tests or ()), *scenario_tests])]
    talk = mapping(test.get("metadata")).get("conversationId")
    place = place_of_test(test, tests) if tests is not None else None
    earlier = _earlier(talk, place, tests or ())
    names = [one.get("description") for one in known[1:]]
    filters = [_test_filter(test, place, tests, names)]
    if earlier and place is not None:
        filters = [_conversation_filter([*earlier, place], names)]
    if several_providers:
        filters.append(_provider_filter(mapping(row.get("provider")), known))
    if several_prompts:
        filters.append(_prompt_filter(mapping(row.get("prompt")), known))
    words = ["promptfoo", "eval", *(["-c", config] if config else [])]
    words += [word for given, _ in filters for word in given]
    begins_anew = talk is not None and earlier is None
    return Rerun(shlex.join(words), all(exact for _, exact in filters), begins_anew)


_Filter = tuple[list[str], bool]
"""Words of the command line, and whether they are known to select what is wanted alone."""


def _earlier(talk: Any, place: int | None, tests: Sequence[Any]) -> list[int] | None:
    """Return the places of the tests before it in the same conversation; ``None`` if unknown."""
    talks = [mapping(mapping(one).get("metadata")).get("conversationId") for one in tests]
    if talk is None or place is None or talks[place] != talk:
        return None
    return [number for number in range(place) if talks[number] == talk]


def _conversation_filter(places: list[int], all_names: Sequence[Any]) -> _Filter:
    """By the descriptions where each is one of a kind, else all from the first to the last."""
    names = [name for n in places if isinstance(name := all_names[n], str) and name]
    if len(names) == len(places) and all(all_names.count(name) == 1 for name in names):
        return ["--filter-pattern", f"^({'|'.join(map(_quoted, names))})$"], True
    first, last = places[0], places[-1]
    return ["--filter-range", f"{first}:{last + 1}"], len(places) == last + 1 - first


def _test_filter(
    test: Mapping[str, Any], place: int | None, tests: Sequence[Any] | None, names: Sequence[Any]
) -> _Filter:
    description = test.get("description")
    named = isinstance(description, str) and description != ""
    alike = names.count(description)
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


def place_of_test(test: Mapping[str, Any], tests: Sequence[Any]) -> int | None:
    """Return the place of the only own test of the config that the row can come from."""
    if _OF_SCENARIO.match(str(mapping(test.get("metadata")).get("conversationId"))):
        return None
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
        isinstance(value, list) and not _is_same(key, value, given.get(key))
        for key, value in mapping(written.get("vars")).items()
    )


def _may_be(written: Mapping[str, Any], test: Mapping[str, Any]) -> bool:
    if written.get("description") != test.get("description"):
        return False
    given = mapping(test.get("vars"))
    return all(
        _is_same(key, value, given.get(key))
        or (isinstance(value, list) and given.get(key) in value)
        for key, value in mapping(written.get("vars")).items()
    )


def _is_same(key: str, written: Any, given: Any) -> bool:
    """Whether a variable of a row is the config's; the extension puts a transcript into a list."""
    return bool(given == written or (key == "transcript" and given == [written]))
