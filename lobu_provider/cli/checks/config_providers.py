"""The Lobu providers of promptfoo's config file, with the templates that promptfoo fills in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from lobu_provider.extension.suite import mapping


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
    keys: Mapping[str, Any] = field(default_factory=dict)
    """The whole entry as written: ``config`` and what stands beside it."""


def providers_of(
    data: Mapping[str, Any], env: Mapping[str, Any], folder: Path
) -> list[ProviderEntry]:
    """Return the Lobu providers of a config file.

    Args:
        data: the file's content.
        env: its ``env``, filled in.
        folder: where it lies.
    """
    entries = list(_providers(data, env, folder))
    if len(entries) < 2:
        return entries
    return [replace(entry, where=f"{entry.where} ({entry.label or entry.id})") for entry in entries]


def _providers(
    data: Mapping[str, Any], env: Mapping[str, Any], folder: Path
) -> Iterator[ProviderEntry]:
    for key in ("providers", "targets"):
        value = data.get(key)
        entries = value if isinstance(value, list) else [value]
        for index, entry in enumerate(entries):
            provider_id, options = _entry(entry)
            raw = mapping(options.get("config"))
            rendered = str(render(provider_id, env))
            kind = _kind(rendered, options, folder)
            if kind is not None:
                yield ProviderEntry(
                    where=f"{key}[{index}]",
                    id=rendered,
                    kind=kind,
                    options={
                        "id": rendered,
                        "config": {**render(raw, env), "basePath": str(folder)},
                        "env": env,
                    },
                    raw_config=raw,
                    label=str(render(options.get("label") or "", env)),
                    keys=options,
                )


def _entry(entry: Any) -> tuple[str, Mapping[str, Any]]:
    """Return id and options of an entry in any of promptfoo's three forms."""
    if isinstance(entry, str):
        return entry, {}
    options = mapping(entry)
    if isinstance(options.get("id"), str):
        return options["id"], options
    if len(options) == 1:  # {'file://hook.py': {config: ...}}
        (name, inner) = next(iter(options.items()))
        return str(name), mapping(inner)
    return "", options


_OURS: Final = frozenset({"agent", "gateway", "tokenEnv", "tokenFile", "tokenCommand"})


def _kind(
    provider_id: str, options: Mapping[str, Any], folder: Path
) -> Literal["python", "package"] | None:
    if re.match(r"package:@lobu/promptfoo-provider(:|$)", provider_id):
        return "package"
    if provider_id.partition(":")[0] not in ("file", "python"):
        return None
    name = script_name(provider_id)
    if name.endswith("lobu_hook.py") or _OURS & {*options, *mapping(options.get("config"))}:
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


def render(value: Any, env: Mapping[str, Any]) -> Any:
    """Fill in ``{{env.NAME}}`` and its ``default(...)`` as promptfoo does when it loads a config.

    An unset variable without a default stays as it is written, and so does any other template.
    """
    if isinstance(value, str):
        return _TEMPLATE.sub(lambda found: _variable(found, env), value)
    if isinstance(value, Mapping):
        return {key: render(item, env) for key, item in value.items()}
    if isinstance(value, list):
        return [render(item, env) for item in value]
    return value


def _variable(found: re.Match[str], env: Mapping[str, Any]) -> str:
    name = found["name"] or found["key"]
    value = env.get(name, os.environ.get(name))
    default = found["default"]
    if default is not None and (value is None or (value == "" and found["blank"] == "true")):
        return default
    return found.group() if value is None else str(value)
