"""Read promptfoo's config file as far as a doctor must: providers, tests, defaults, ``env``.

JSON is always readable; YAML needs PyYAML, which is no dependency of ours. JavaScript and
TypeScript configs are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_providers import ProviderEntry, providers_of, render
from lobu_provider.extension.suite import items, mapping
from lobu_provider.structured_file import ENDINGS, UnreadableFileError, load_file

NAMES: Final = tuple(
    f"promptfooconfig.{end}" for end in ("yaml", "yml", "json", "js", "mjs", "cjs", "ts", "mts")
)


@dataclass(frozen=True)
class Scenario:
    """Tests that run once for each entry of ``data``."""

    data: list[Mapping[str, Any]]
    tests: list[Mapping[str, Any]]


@dataclass(frozen=True)
class ConfigFile:
    """A config file that was read."""

    path: Path
    data: Mapping[str, Any]
    providers: list[ProviderEntry]
    default_test: Mapping[str, Any]
    tests: list[Mapping[str, Any]]
    """Its own and those of its scenarios."""
    not_read: list[str] = field(default_factory=list)
    """Test sources that only promptfoo can read."""
    own_tests: list[Mapping[str, Any]] = field(default_factory=list)
    scenarios: list[Scenario] = field(default_factory=list)


def find_config(folder: Path) -> Path | None:
    """Return the config file that promptfoo would take in ``folder``."""
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def read_config(path: Path) -> ConfigFile:
    """Read a config file.

    Raises:
        UnreadableFileError: missing, not JSON or YAML, or YAML without PyYAML.
    """
    loaded = load_file(path)
    data = mapping(loaded)
    if not data:
        what = "is empty" if loaded is None or loaded == {} else "does not hold a mapping of keys"
        fix = "Write promptfoo's keys at its top level: prompts, providers, tests."
        raise UnreadableFileError(f"{path} {what}", fix)
    not_read: list[str] = []
    env = {name: render(value, {}) for name, value in mapping(data.get("env")).items()}
    default_test = data.get("defaultTest")
    if isinstance(default_test, str):
        default_test = next(iter(_linked(default_test, path.parent, not_read)), None)
    tests = list(_tests(data.get("tests"), path.parent, not_read))
    scenarios = [
        Scenario(
            list(_tests(mapping(scenario).get("config"), path.parent, not_read)),
            list(_tests(mapping(scenario).get("tests"), path.parent, not_read)),
        )
        for scenario in items(data.get("scenarios"))
    ]
    return ConfigFile(
        path=path,
        data=data,
        providers=providers_of(data, env, path.parent),
        default_test=mapping(default_test),
        tests=[*tests, *(test for scenario in scenarios for test in scenario.tests)],
        not_read=not_read,
        own_tests=tests,
        scenarios=scenarios,
    )


def _tests(value: Any, folder: Path, not_read: list[str]) -> Iterator[Mapping[str, Any]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, Mapping) and "path" not in item:
            yield item
        elif isinstance(item, Mapping):
            not_read.append(str(item["path"]))
        elif isinstance(item, str):
            for linked in _linked(item, folder, not_read):
                yield from (t for t in _as_list(linked) if isinstance(t, Mapping))


def _linked(reference: str, folder: Path, not_read: list[str]) -> Iterator[Any]:
    path = folder / reference.removeprefix("file://")
    if path.suffix.lower() in ENDINGS and path.is_file():
        try:
            yield load_file(path)
        except UnreadableFileError:
            not_read.append(reference)
    else:
        not_read.append(reference)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
