"""What in a config file makes promptfoo do something other than what it looks like.

The rules are promptfoo's (0.121 and 0.123); each is told with the line to write instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from lobu_provider.assertions.model_graded import MODEL_GRADED
from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.cli.checks.config_providers import ProviderEntry
from lobu_provider.cli.checks.config_tests import (
    assertions,
    base_type,
    named,
    options_of,
    vars_of,
)
from lobu_provider.cli.checks.config_values import dates, unset_files
from lobu_provider.cli.checks.misplaced_keys import options_beside_config, settings_beside_config
from lobu_provider.extension.context_transforms import corrected
from lobu_provider.extension.suite import listed
from lobu_provider.extension.transcripts import expands_variables
from lobu_provider.probe.finding import Finding

NEEDS_GRADER: Final = (MODEL_GRADED - {"pi"}) | {
    "select-best",
    "similar",
    "trajectory:goal-success",
}
"""Assertion types that ask a model which can be chosen; Pi is a service of its own."""

_NEED_QUERY: Final = frozenset({"context-faithfulness", "context-relevance"})


def lint(config: ConfigFile) -> Iterator[Finding]:
    """Yield what is wrong with the file; one ``ok`` when nothing is."""
    found = [
        *options_beside_config(config),
        *_split_transcripts(config),
        *_context_transforms(config),
        *_missing_queries(config),
        *_missing_thresholds(config),
        *_unpinned_graders(config),
        *_descriptions(config),
        *unset_files(config),
        *dates(config),
    ]
    for entry in config.providers:
        found += [*_token_in_file(entry), *_provider_key(entry), *settings_beside_config(entry)]
    if not found:
        found = [Finding("tests", "ok", f"{len(config.tests)} tests read in {config.path}")]
    yield from found
    if config.not_read:
        yield Finding(
            "tests",
            "ok",
            f"not looked at, only promptfoo can read it: {listed(config.not_read)}",
        )


def _split_transcripts(config: ConfigFile) -> Iterator[Finding]:
    if not expands_variables() or is_repaired(config):
        return
    split = []
    for name, test in named(config):
        options = {**options_of(config.default_test), **options_of(test)}
        variables = {**vars_of(config.default_test), **vars_of(test)}
        turns = variables.get("transcript")
        if not (isinstance(turns, list) and turns and isinstance(turns[0], str)):
            continue
        reshaped = "transcript" in str(options.get("transformVars", ""))
        if options.get("disableVarExpansion") is not True and not reshaped:
            split.append(name)
    if split:
        yield Finding(
            "transcripts",
            "fail",
            "promptfoo splits vars.transcript into one test per entry, so the turns are not one "
            f"conversation: {listed(split)}",
            "Add to defaultTest (or to the test):  options: {disableVarExpansion: true}  "
            "or use the hook of docs/extension.md",
        )


def is_repaired(config: ConfigFile) -> bool:
    """Whether a hook of ours corrects the suite before promptfoo uses it."""
    return any(_REPAIRS.search(str(entry)) for entry in _as_list(config.data.get("extensions")))


_REPAIRS: Final = re.compile(
    r"(lobu_extension(\.py)?|LOBU_EXTENSION\b.*|promptfoo-provider/extension\.js):beforeAll$"
)
"""An entry of ``extensions`` that keeps transcripts whole and corrects transforms."""


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _context_transforms(config: ConfigFile) -> Iterator[Finding]:
    given = [(name, one.get("contextTransform", "")) for name, _, one in assertions(config)]
    if is_repaired(config):
        given = [(name, corrected(transform)) for name, transform in given]
    wrong = [name for name, transform in given if re.match(r"\s*metadata\b", str(transform))]
    if wrong:
        yield Finding(
            "context",
            "fail",
            f"contextTransform starts with 'metadata', which promptfoo does not define: "
            f"{listed(wrong)}",
            "Write  contextTransform: "
            "\"context.metadata.retrievedContext ?? 'No context was retrieved.'\"",
        )


def _missing_queries(config: ConfigFile) -> Iterator[Finding]:
    common = vars_of(config.default_test)
    lacking = [
        name
        for name, test, assertion in assertions(config)
        if base_type(assertion) in _NEED_QUERY and not ({**common, **vars_of(test)}).get("query")
    ]
    if lacking:
        yield Finding(
            "context",
            "fail",
            "context-faithfulness and context-relevance need the variable 'query', and the test "
            f"becomes an error without it: {listed(lacking)}",
            "Add  query: ...  to the test's vars, for a transcript its last turn.",
        )


def _missing_thresholds(config: ConfigFile) -> Iterator[Finding]:
    lacking = [
        name
        for name, _, assertion in assertions(config)
        if base_type(assertion).startswith("context-") and "threshold" not in assertion
    ]
    if lacking:
        yield Finding(
            "context",
            "warn",
            "context-* assertions without a threshold always pass in promptfoo 0.121 "
            f"(newer: 0.5): {listed(lacking)}",
            "Add  threshold: 0.5  or what you need.",
        )


def _unpinned_graders(config: ConfigFile) -> Iterator[Finding]:
    if options_of(config.default_test).get("provider"):
        return
    unpinned = [
        f"{name} ({base_type(assertion)})"
        for name, test, assertion in assertions(config)
        if base_type(assertion) in NEEDS_GRADER
        and not assertion.get("provider")
        and not options_of(test).get("provider")
    ]
    if unpinned:
        yield Finding(
            "graders",
            "warn",
            "a model grades, and which one depends on promptfoo's version and on the API keys "
            f"that are set: {listed(unpinned)}",
            "Pin it:  defaultTest: {options: {provider: anthropic:messages:MODEL}}",
        )


def _descriptions(config: ConfigFile) -> Iterator[Finding]:
    names = [str(test.get("description") or "").strip() for test in config.tests]
    missing = [f"tests[{index}]" for index, name in enumerate(names) if not name]
    double = [name for name, count in Counter(names).items() if name and count > 1]
    if missing:
        yield Finding(
            "descriptions",
            "warn",
            f"without a description a result is hard to find: {listed(missing)}",
            "Add  description: ...  to each test.",
        )
    if double:
        yield Finding(
            "descriptions",
            "warn",
            f"several tests have the same description: {listed(double)}",
            "Give each its own.",
        )


def _token_in_file(entry: ProviderEntry) -> Iterator[Finding]:
    token = entry.raw_config.get("token")
    if not isinstance(token, str) or not token.strip():
        return
    templated = "{{" in token
    yield Finding(
        "token in file",
        "warn" if templated else "fail",
        "promptfoo stores the config block in its database, cache and debug log, "
        + ("with the token filled in" if templated else "and the file holds a token in clear"),
        "Remove 'token': LOBU_TOKEN is read from the environment. "
        "For another variable:  tokenEnv: NAME",
        where=entry.where,
    )


def _provider_key(entry: ProviderEntry) -> Iterator[Finding]:
    value = entry.raw_config.get("provider")
    if value not in (None, "", "claude"):
        yield Finding(
            "provider key",
            "fail",
            f"'provider' is {str(value)!r}; every gateway we know answers 400 to anything but "
            "'claude', which selects nothing",
            "Remove 'provider'; the model is set at the agent.",
            where=entry.where,
        )
