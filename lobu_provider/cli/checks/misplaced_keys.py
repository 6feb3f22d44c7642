"""Keys of ours that stand beside ``config``, where promptfoo drops them without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.assertions.beside_config import check_of, is_for_config, misplaced
from lobu_provider.assertions.values import bare_word
from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.cli.checks.config_providers import ProviderEntry
from lobu_provider.cli.checks.config_tests import assertions
from lobu_provider.config.model import BESIDE_CONFIG, PROMPTFOO_KEYS, known_keys
from lobu_provider.extension.suite import listed, mapping
from lobu_provider.probe.finding import Finding

_READ_BESIDE: Final = BESIDE_CONFIG | {"config", "inputs"}

_SETTINGS: Final = {bare_word(key): key for key in (*PROMPTFOO_KEYS - _READ_BESIDE, *known_keys())}


def options_beside_config(config: ConfigFile) -> Iterator[Finding]:
    """Yield a fault for each option of an assertion of ours that is not under its ``config``."""
    told: dict[str, list[str]] = {}
    for name, _, given in assertions(config):
        assertion = _resolved(given, config.data)
        check = check_of(assertion)
        for problem in misplaced(check, assertion) if check is not None else ():
            told.setdefault(f"{check}: {problem}", []).append(name)
    for problem, names in told.items():
        yield Finding("assertions", "fail", f"{problem} ({listed(names)})", _FIX_OPTION)


_FIX_OPTION: Final = "Indent it to stand under the assertion's  config:  or remove it."


def settings_beside_config(entry: ProviderEntry) -> Iterator[Finding]:
    """Yield a fault for each key of a provider of ours that is not under its ``config``."""
    for key, value in entry.keys.items():
        if not isinstance(key, str) or key in _READ_BESIDE or not key[:1].isalpha():
            continue
        word = bare_word(key)
        setting = _SETTINGS.get(word)
        if setting is not None:
            what = "it" if setting == key else f"it, as {setting},"
        elif isinstance(value, Mapping) and value and is_for_config(word):
            what = "what it holds"
        else:
            continue
        yield Finding(
            "config",
            "fail",
            f"{key} stands beside id, where promptfoo ignores it",
            f"Move {what} under the provider's  config:  block.",
            where=entry.where,
        )


def _resolved(assertion: Mapping[str, Any], data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fill in the template that an assertion names, as promptfoo does: its own keys come first."""
    reference = assertion.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return assertion
    found: Any = data
    for name in reference.removeprefix("#/").split("/"):
        found = mapping(found).get(name)
    return {**mapping(found), **assertion}
