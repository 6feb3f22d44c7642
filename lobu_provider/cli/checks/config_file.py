"""Read promptfoo's config file as far as a doctor must: providers, tests, defaults, ``env``.

JSON is always readable; YAML needs PyYAML, which is no dependency of ours. JavaScript and
TypeScript configs are not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from lobu_provider.structured_file import ENDINGS, UnreadableFileError, load_file

NAMES: Final = tuple(
    f"promptfooconfig.{end}" for end in ("yaml", "yml", "json", "js", "mjs", "cjs", "ts", "mts")
)


@dataclass(frozen=True)
class ProviderEntry:
    """One Lobu provider of a config file."""

    where: str
    """E.g. ``providers[0]``; where there are several, with label or id."""
    id: str
    kind: Literal["python", "package"]
    options: Mapping[str, Any]
    """``{id, config, env}`` as promptfoo passes them: environment templates are filled in."""
    raw_config: Mapping[str, Any]
    """The config block as written."""
    label: str = ""


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
    data = _mapping(loaded)
    if not data:
        what = "is empty" if loaded is None or loaded == {} else "does not hold a mapping of keys"
        fix = "Write promptfoo's keys at its top level: prompts, providers, tests."
        raise UnreadableFileError(f"{path} {what}", fix)
    not_read: list[str] = []
    env = {name: _render(value, {}) for name, value in _mapping(data.get("env")).items()}
    default_test = data.get("defaultTest")
    if isinstance(default_test, str):
        default_test = next(iter(_linked(default_test, path.parent, not_read)), None)
    tests = list(_tests(data.get("tests"), path.parent, not_read))
    scenarios = [
        Scenario(
            list(_tests(_mapping(scenario).get("config"), path.parent, not_read)),
            list(_tests(_mapping(scenario).get("tests"), path.parent, not_read)),
        )
        for scenario in _list(data.get("scenarios"))
    ]
    return ConfigFile(
        path=path,
        data=data,
        providers=_told_apart(list(_providers(data, env, path.parent))),
        default_test=_mapping(default_test),
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


def _providers(
    data: Mapping[str, Any], env: Mapping[str, Any], folder: Path
) -> Iterator[ProviderEntry]:
    for key in ("providers", "targets"):
        value = data.get(key)
        entries = _as_list(value) if value is not None else []
        for index, entry in enumerate(entries):
            provider_id, options = _entry(entry)
            raw = _mapping(options.get("config"))
            rendered = str(_render(provider_id, env))
            kind = _kind(rendered, raw, folder)
            if kind is not None:
                yield ProviderEntry(
                    where=f"{key}[{index}]",
                    id=rendered,
                    kind=kind,
                    options={
                        "id": rendered,
                        "config": {**_render(raw, env), "basePath": str(folder)},
                        "env": env,
                    },
                    raw_config=raw,
                    label=str(_render(options.get("label") or "", env)),
                )


def _told_apart(entries: list[ProviderEntry]) -> list[ProviderEntry]:
    if len(entries) < 2:
        return entries
    return [replace(entry, where=f"{entry.where} ({entry.label or entry.id})") for entry in entries]


def _entry(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Return id and options of an entry in any of promptfoo's three forms."""
    if isinstance(entry, str):
        return entry, {}
    options = _mapping(entry)
    if isinstance(options.get("id"), str):
        return options["id"], options
    if len(options) == 1:  # {'file://hook.py': {config: ...}}
        (name, inner) = next(iter(options.items()))
        return str(name), _mapping(inner)
    return "", options


_OURS: Final = frozenset({"agent", "gateway", "tokenEnv", "tokenFile", "tokenCommand"})


def _kind(
    provider_id: str, config: Mapping[str, Any], folder: Path
) -> Literal["python", "package"] | None:
    if re.match(r"package:@lobu/promptfoo-provider(:|$)", provider_id):
        return "package"
    if provider_id.partition(":")[0] not in ("file", "python"):
        return None
    name = script_name(provider_id)
    if name.endswith("lobu_hook.py") or _OURS & set(config):
        return "python"
    return "python" if name.endswith(".py") and _mentions_us(folder / name) else None


def script_name(provider_id: str) -> str:
    """Return the path in ``file://hook.py`` or ``python:hook.py:function``."""
    name = provider_id.partition(":")[2].removeprefix("//")
    return re.sub(r"(\.py):[\w.]+$", r"\1", name)


def _mentions_us(path: Path) -> bool:
    try:
        return "lobu_provider" in path.read_text("utf-8", "replace")[:100_000]
    except OSError:
        return False


_TEMPLATE: Final = re.compile(
    r"""\{\{-?\s*env(?:\.(?P<name>\w+)|\[\s*['"](?P<key>\w+)['"]\s*\])\s*
        (?:\|\s*default\(\s*(?P<quote>['"])(?P<default>.*?)(?P=quote)\s*
           (?:,\s*(?P<blank>true|false)\s*)?\)\s*)?-?\}\}""",
    re.VERBOSE,
)


def _render(value: Any, env: Mapping[str, Any]) -> Any:
    """Fill in ``{{env.NAME}}`` and its ``default(...)`` as promptfoo does when it loads a config.

    An unset variable without a default stays as it is written, and so does any other template.
    """
    if isinstance(value, str):
        return _TEMPLATE.sub(lambda found: _variable(found, env), value)
    if isinstance(value, Mapping):
        return {key: _render(item, env) for key, item in value.items()}
    if isinstance(value, list):
        return [_render(item, env) for item in value]
    return value


def _variable(found: re.Match[str], env: Mapping[str, Any]) -> str:
    name = found["name"] or found["key"]
    value = env.get(name, os.environ.get(name))
    default = found["default"]
    if default is not None and (value is None or (value == "" and found["blank"] == "true")):
        return default
    return found.group() if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
