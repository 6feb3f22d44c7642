"""All checks of the doctor, in order, within one time limit and without any secret."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_file import ConfigFile, find_config, read_config
from lobu_provider.cli.checks.config_lint import lint
from lobu_provider.cli.checks.config_providers import ProviderEntry
from lobu_provider.cli.checks.gateway import check_gateway
from lobu_provider.cli.checks.interpreter import check_interpreter
from lobu_provider.cli.checks.promptfoo_tool import check_promptfoo, check_workers
from lobu_provider.cli.checks.provider_script import check_scripts
from lobu_provider.config.settings import load_settings
from lobu_provider.errors import LobuError
from lobu_provider.probe.finding import Finding, TimeBudget, joined
from lobu_provider.probe.gateway import Target, distinct, resolve, token_fix
from lobu_provider.redaction import Redactor
from lobu_provider.structured_file import UnreadableFileError

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
        """Return the finding as it is told: with its place in the text, and without a secret."""
        redactor = Redactor(self._secrets)
        fix = redactor.text(finding.fix) if finding.fix is not None else None
        detail = f"{finding.where}: {finding.detail}" if finding.where else finding.detail
        return replace(finding, detail=redactor.text(detail), fix=fix, where="")

    def run(self, config_path: Path | None) -> Iterator[Finding]:
        path = config_path or find_config(Path())
        config: ConfigFile | None = None
        unread = ""
        if path is not None:
            try:
                config = read_config(path)
            except UnreadableFileError as error:
                status: Final = "fail" if error.is_mendable else "warn"
                yield Finding("file", status, str(error), error.fix)
                if error.is_broken:
                    return  # what else is said would be guessed
                unread = f"not checked, because {path} could not be read (see 'file')"
        entries = config.providers if config is not None else []
        if entries:
            yield from joined(f for entry in entries for f in self._check_entry(entry))
        elif not unread or self._names_an_agent():
            if config is not None:
                yield _no_provider(config, is_fault=config_path is not None)
            source = "from the options and LOBU_* variables"
            where = source if self._given else "from LOBU_* variables"
            yield from self._check_config(where, {"config": self._given})
        else:
            yield Finding("config", "warn", unread)
        yield from check_interpreter(entries, self._budget)
        folders = [path.absolute().parent] if path is not None else []
        yield from check_promptfoo([*folders, Path.cwd()], self._budget)
        if config is not None:
            yield from joined(check_workers(config, entries))
            yield from joined(check_scripts(config, entries))
            yield from joined(lint(config))
        elif unread:
            for check in ("workers", "hook", "tests"):
                yield Finding(check, "warn", unread)
        # Last: only these can take long.
        targets = distinct(self._targets)
        yield from joined(f for t in targets for f in check_gateway(t, self._budget))
        if not targets:
            for check in ("gateway", "token", "agent") if unread else ("gateway",):
                yield Finding(check, "warn", unread or "not checked: no usable config")

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
        except LobuError as error:
            fix = _AGENT_FIX if "LOBU_AGENT" in error.failure.message else _KEY_FIX
            yield Finding("config", "fail", error.failure.message, fix, where=where)
            return
        self._secrets += settings.headers.values()
        try:
            target = resolve(where, settings, self._budget)
        except LobuError as error:
            fix = token_fix(settings)
            yield Finding("config", "fail", error.failure.message, fix, where=where)
            return
        self._secrets.append(target.token)
        self._targets.append(target)
        detail = f"agent {settings.agent_id!r} at {settings.gateway}"
        yield Finding("config", "ok", detail, where=where)
        for warning in settings.warnings:
            if not warning.startswith("config.token:"):  # told in the file's own checks
                yield Finding("config", "warn", warning, where=where)


_AGENT_FIX: Final = "export LOBU_AGENT=ID  (or agent: ID in the config, or --agent ID)"
_KEY_FIX: Final = "Correct it; see the table of config keys in the README."


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
