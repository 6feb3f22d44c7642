"""All checks of the doctor, in order, within one time limit and without any secret."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_file import (
    ConfigFile,
    ProviderEntry,
    UnreadableFileError,
    find_config,
    read_config,
)
from lobu_provider.cli.checks.config_lint import lint
from lobu_provider.cli.checks.finding import Finding, TimeBudget
from lobu_provider.cli.checks.gateway import Target, check_gateway, resolve
from lobu_provider.cli.checks.interpreter import check_interpreter
from lobu_provider.cli.checks.promptfoo_tool import check_promptfoo, check_workers
from lobu_provider.cli.checks.provider_script import check_scripts
from lobu_provider.config.settings import load_settings
from lobu_provider.errors import LobuError
from lobu_provider.redaction import Redactor

LIMIT_S: Final = 26.0
"""Over all checks; with the clean-up after it less than half a minute."""


def examine(config_path: Path | None, given: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the findings as they come.

    Args:
        config_path: promptfoo's config file; ``None`` looks in the working directory.
        given: a config block whose keys take the place of the file's.
    """
    examination = _Examination(TimeBudget(LIMIT_S), given)
    for finding in examination.run(config_path):
        yield examination.redacted(finding)


class _Examination:
    def __init__(self, budget: TimeBudget, given: Mapping[str, Any]) -> None:
        self._budget = budget
        self._given = given
        self._secrets: list[str | None] = [os.environ.get("LOBU_TOKEN")]
        self._targets: list[Target] = []

    def redacted(self, finding: Finding) -> Finding:
        redactor = Redactor(self._secrets)
        fix = redactor.text(finding.fix) if finding.fix is not None else None
        return replace(finding, detail=redactor.text(finding.detail), fix=fix)

    def run(self, config_path: Path | None) -> Iterator[Finding]:
        path = config_path or find_config(Path())
        config: ConfigFile | None = None
        hidden = False
        if path is not None:
            try:
                config = read_config(path)
            except UnreadableFileError as error:
                hidden = not error.is_fault
                yield Finding("file", "warn" if hidden else "fail", str(error), error.fix)
        entries = config.providers if config is not None else []
        if entries:
            for entry in entries:
                yield from self._check_entry(entry)
        elif not hidden or self._names_an_agent():
            if config is not None:
                yield _no_provider(config, is_fault=config_path is not None)
            yield from self._check_config("options and environment", {"config": self._given})
        yield from check_interpreter(entries, self._budget)
        folders = [path.absolute().parent] if path is not None else []
        yield from check_promptfoo([*folders, Path.cwd()], self._budget)
        if config is not None:
            yield from check_workers(config, entries)
            yield from check_scripts(config, entries)
            yield from lint(config)
        # Last: only these can take long.
        targets = self._distinct_targets()
        for target in targets:
            yield from check_gateway(target, self._budget)
        if not targets:
            yield Finding("gateway", "warn", "not checked: no usable config")

    def _names_an_agent(self) -> bool:
        return bool(self._given.get("agent") or os.environ.get("LOBU_AGENT"))

    def _check_entry(self, entry: ProviderEntry) -> Iterator[Finding]:
        self._secrets.append(_text(entry.raw_config.get("token")))
        block = {**entry.options["config"], **self._given}
        yield from self._check_config(entry.where, {**entry.options, "config": block})

    def _check_config(self, where: str, options: Mapping[str, Any]) -> Iterator[Finding]:
        self._secrets += _header_values(options["config"].get("headers"))
        try:
            settings = load_settings(options)
            self._secrets += settings.headers.values()
            target = resolve(where, settings, self._budget)
        except LobuError as error:
            yield Finding(
                "config", "fail", f"{where}: {error.failure.message}", _fix(error.failure.message)
            )
            return
        self._secrets.append(target.token)
        self._targets.append(target)
        yield Finding("config", "ok", f"{where}: agent {settings.agent_id!r} at {settings.gateway}")
        for warning in settings.warnings:
            if not warning.startswith("config.token:"):  # told in the file's own checks
                yield Finding("config", "warn", f"{where}: {warning}")

    def _distinct_targets(self) -> list[Target]:
        """Two entries that differ in nothing that the gateway sees are asked about once."""
        seen: dict[Any, Target] = {}
        for target in self._targets:
            s = target.settings
            headers = tuple(sorted(s.headers.items()))
            config = (s.config.provider, s.config.model)
            seen.setdefault((s.gateway, s.agent_id, s.org, headers, config, target.token), target)
        return list(seen.values())


_FIXES: Final = (
    ("LOBU_AGENT", "export LOBU_AGENT=ID  (or agent: ID in the config, or --agent ID)"),
    ("No token", "export LOBU_TOKEN=$(lobu token --raw)"),
)


def _fix(message: str) -> str:
    known = (fix for words, fix in _FIXES if words in message)
    return next(known, "Correct the key; what each means stands in: lobu-provider path schema")


def _no_provider(config: ConfigFile, *, is_fault: bool) -> Finding:
    return Finding(
        "file",
        "fail" if is_fault else "warn",
        f"{config.path} has no Lobu provider",
        "Add to providers:  {id: 'file://PATH', config: {agent: ID}}  with the PATH that "
        "'lobu-provider path' prints.",
    )


def _header_values(headers: Any) -> list[str | None]:
    values = headers.values() if isinstance(headers, Mapping) else ()
    return [_text(value) for value in values]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and "{{" not in value else None
