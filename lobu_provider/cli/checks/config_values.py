"""Values of a config file that do not reach promptfoo as they look."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.extension.suite import listed
from lobu_provider.probe.finding import Finding

_FILE_VARIABLE: Final = re.compile(
    r"\{\{-?\s*env\.(LOBU_(PROVIDER_HOOK|ASSERTIONS|TRANSFORMS|EXTENSION))\s*-?\}\}"
)
_FILES: Final = {"LOBU_PROVIDER_HOOK": "hook"}


def unset_files(config: ConfigFile) -> Iterator[Finding]:
    """Yield a fault for each variable of ours that names a file and is not set."""
    set_here = config.data.get("env")
    options = config.data.get("commandLineOptions")
    if isinstance(options, Mapping) and options.get("envPath"):
        return  # a file of variables that is promptfoo's to read
    texts = _texts([config.data, config.default_test, config.tests])
    named = {found[1] for text in texts for found in _FILE_VARIABLE.finditer(text)}
    for name in sorted(named):
        if os.environ.get(name) or (isinstance(set_here, Mapping) and set_here.get(name)):
            continue
        if is_in_env_file(name):
            continue
        file = _FILES.get(name, name.removeprefix("LOBU_").lower())
        yield Finding(
            "variables",
            "fail",
            f"the config names {{{{env.{name}}}}}, which is not set in this shell",
            f'export {name}="$(lobu-provider path {file})"',
        )


def is_in_env_file(name: str) -> bool:
    """Whether the file .env of this folder, which promptfoo reads by itself, sets a variable."""
    path = Path(".env")
    text = path.read_text("utf-8", "replace") if path.is_file() else ""
    return re.search(rf"^\s*(export\s+)?{name}\s*=\s*\S", text, re.MULTILINE) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def dates(config: ConfigFile) -> Iterator[Finding]:
    """Yield a fault where a date stands without quotes."""
    given = [
        (name, part)
        for name, test in [
            ("defaultTest", config.default_test),
            *((f"tests[{index}]", test) for index, test in enumerate(config.tests)),
        ]
        for part in (test.get("vars"), test.get("assert"))
    ]
    holding = list(dict.fromkeys(name for name, part in given if _holds_date(part)))
    if holding:
        yield Finding(
            "dates",
            "fail",
            f"a date without quotes reaches variables and assertions as {{}}: {listed(holding)}",
            "Put it in quotes:  '2026-09-14'",
        )


def _holds_date(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_date, value.values()))
    if isinstance(value, list):
        return any(map(_holds_date, value))
    return isinstance(value, date)  # a datetime is one too
