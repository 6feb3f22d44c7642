"""The tests of a config file and their assertions, those of ``defaultTest`` with each test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.extension.suite import items, mapping
from lobu_provider.promptfoo.trace_assertions import flat_assertions


def named(config: ConfigFile) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each test with what to call it in a message."""
    for index, test in enumerate(config.tests):
        description = str(test.get("description") or "").strip()
        yield (f"{description!r}" if description else f"tests[{index}]"), test
    if not config.tests and not config.not_read:  # promptfoo makes one test of the defaults alone
        yield "defaultTest", {}


def assertions(
    config: ConfigFile,
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each assertion with its test and what to call that; sets before what they hold."""
    for name, test in named(config):
        for source in (config.default_test, test):
            for assertion in flat_assertions(items(source.get("assert"))):
                yield name, test, assertion


def base_type(assertion: Mapping[str, Any]) -> str:
    """Return an assertion's type without ``not-``."""
    return str(assertion.get("type", "")).removeprefix("not-")


def options_of(test: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a test's ``options``."""
    return mapping(test.get("options"))


def vars_of(test: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a test's variables; none where they are a file."""
    return mapping(test.get("vars"))
