"""What promptfoo makes of a config's tests: which rows will run, with which turns and assertions.

The rules are promptfoo's (0.121 and 0.123). What only promptfoo can know, such as tests that a
program makes, is told as a note and not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.assertion_lines import assertion_lines
from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.cli.checks.config_lint import is_repaired
from lobu_provider.cli.checks.variable_files import (
    OnlyPromptfooError,
    found_files,
    is_reference,
    transcript_of,
)
from lobu_provider.errors import LobuError
from lobu_provider.extension.suite import items, mapping
from lobu_provider.extension.transcripts import expands_variables
from lobu_provider.promptfoo.transcript import read_transcript
from lobu_provider.results.provider_references import is_meant


@dataclass(frozen=True)
class ExpandedTest:
    """One test after its lists are split; it runs for each provider, prompt and repeat."""

    source: str
    """Where it stands, e.g. ``tests[3]``."""
    description: str
    turns: list[str]
    """What is said to the agent; with several prompts, by the first."""
    assertions: list[str]
    providers: list[str]
    prompts: int
    repeat: int
    threshold: float | None
    variables: Mapping[str, Any]

    @property
    def rows(self) -> int:
        """How often the agent is called."""
        return len(self.providers) * self.prompts * self.repeat


@dataclass
class Expansion:
    """Everything that will run."""

    tests: list[ExpandedTest] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be counted, or will not be what it looks like."""

    @property
    def rows(self) -> int:
        """How often an agent is called in all."""
        return sum(test.rows for test in self.tests)


def expand(config: ConfigFile) -> Expansion:
    """Return what will run."""
    found = Expansion()
    providers = _providers(config)
    prompts = _prompts(config, found.notes)
    found.notes += [f"not read, only promptfoo can: {source}" for source in config.not_read]
    if not providers:
        found.notes.append("no provider in the file: nothing will run")
    for source, test in _tests(config):
        merged = _merged(config.default_test, test)
        if isinstance(test.get("vars"), str):
            found.notes.append(f"{source}: variables of a file are not read: {test['vars']}")
        for variables in _combinations(config, merged):
            found.tests.append(_expanded(source, merged, variables, providers, prompts, config))
    for one in found.tests:
        if not one.assertions:
            found.notes.append(f"{one.source}: no assertion: it passes whatever the agent answers")
        if not one.providers and providers:
            found.notes.append(f"{one.source}: its 'providers' name none of the file: never runs")
    found.notes = list(dict.fromkeys(found.notes))
    return found


def _providers(config: ConfigFile) -> list[tuple[str, str]]:
    """Return label (or id) and id of each provider of the file, ours or not."""
    found = []
    for key in ("providers", "targets"):
        given = config.data.get(key)
        for entry in given if isinstance(given, list) else [given] if given is not None else []:
            if isinstance(entry, Mapping) and "id" not in entry and len(entry) == 1:
                (name, inner) = next(iter(entry.items()))
                entry = {"id": name, **mapping(inner)}
            identity = str(entry.get("id", "")) if isinstance(entry, Mapping) else str(entry)
            label = str(mapping(entry).get("label") or identity)
            found.append((label, identity))
    return found


def _prompts(config: ConfigFile, notes: list[str]) -> list[str]:
    given = config.data.get("prompts", "{{prompt}}")
    entries = given if isinstance(given, list) else [given]
    texts = [str(mapping(e).get("raw") or mapping(e).get("id") or e) for e in entries]
    files = [text for text in texts if text.startswith("file://")]
    if files:
        notes.append(f"each counted as one prompt, not read: {', '.join(files)}")
    return texts


def _tests(config: ConfigFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each test with its place; those of scenarios once for each entry of their config."""
    yield from ((f"tests[{index}]", test) for index, test in enumerate(config.own_tests))
    if not config.tests and not config.not_read:
        yield "defaultTest", {}
    for number, scenario in enumerate(config.scenarios):
        for (at, data), (index, test) in product(
            enumerate(scenario.data), enumerate(scenario.tests)
        ):
            yield f"scenarios[{number}].config[{at}].tests[{index}]", _merged(data, test)


def _merged(common: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    options = {**mapping(common.get("options")), **mapping(test.get("options"))}
    defaults = [] if options.get("disableDefaultAsserts") is True else items(common.get("assert"))
    return {
        **common,
        **test,
        "vars": {**mapping(common.get("vars")), **mapping(test.get("vars"))},
        "options": options,
        "assert": [*defaults, *items(test.get("assert"))],
    }


def _combinations(config: ConfigFile, test: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    variables = dict(test["vars"])
    options = test["options"]
    if is_repaired(config) or "transcript" in str(options.get("transformVars", "")):
        turns = variables.get("transcript")
        if isinstance(turns, list) and turns and isinstance(turns[0], str):
            variables["transcript"] = [turns]
    if options.get("disableVarExpansion") is True or not expands_variables():
        yield variables
        return
    split = {
        name: value
        for name, value in variables.items()
        if isinstance(value, list) and value and isinstance(value[0], str)
    }
    for name, value in variables.items():
        if is_reference(value):
            split[name] = found_files(value, config.path.parent)
    for values in product(*split.values()):
        yield {**variables, **dict(zip(split, values, strict=True))}


def _expanded(
    source: str,
    test: Mapping[str, Any],
    variables: dict[str, Any],
    providers: list[tuple[str, str]],
    prompts: list[str],
    config: ConfigFile,
) -> ExpandedTest:
    return ExpandedTest(
        source=source,
        description=_filled(str(test.get("description") or ""), variables),
        turns=_turns(variables, prompts[0] if prompts else "", config.path.parent),
        assertions=[line for a in items(test.get("assert")) for line in assertion_lines(a)],
        providers=[label for label, identity in providers if _allowed(test, label, identity)],
        prompts=len(prompts),
        repeat=_repeat(test, config),
        threshold=test.get("threshold"),
        variables=variables,
    )


def _turns(variables: Mapping[str, Any], prompt: str, folder: Path) -> list[str]:
    said = _filled(prompt, variables)
    given: Any = variables.get("transcript")
    try:
        turns = transcript_of(given, folder) if is_reference(given) else given
        transcript = read_transcript(turns, said, string_means_prompt=False)
    except OnlyPromptfooError as error:
        return [f"(made by {error}, which only promptfoo can run)"]
    except LobuError as error:
        return [f"(error: {' '.join(error.failure.message.split())})"]
    return [said] if transcript is None else transcript.turns


_NAME: Final = re.compile(r"\{\{-?\s*(\w+)\s*-?\}\}")


def _filled(text: str, variables: Mapping[str, Any]) -> str:
    """Fill in plain names; other templates stay as they are."""
    return _NAME.sub(lambda found: str(variables.get(found[1], found[0])), text)


def _allowed(test: Mapping[str, Any], label: str, identity: str) -> bool:
    wanted = test.get("providers")
    if not isinstance(wanted, list):
        return True
    return any(is_meant(reference, (label, identity)) for reference in wanted)


def _repeat(test: Mapping[str, Any], config: ConfigFile) -> int:
    common = {
        **mapping(config.data.get("commandLineOptions")),
        **mapping(config.data.get("evaluateOptions")),
    }
    for value in (test["options"].get("repeat"), common.get("repeat")):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return 1
