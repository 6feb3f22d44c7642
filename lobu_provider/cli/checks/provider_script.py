"""Whether promptfoo finds the file that a Python provider's id names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from lobu_provider.cli.checks.config_file import ConfigFile
from lobu_provider.cli.checks.config_providers import ProviderEntry, script_name
from lobu_provider.probe.finding import Finding

_CHECK: Final = "hook"
_FIX: Final = "export LOBU_PROVIDER_HOOK=\"$(lobu-provider path)\"  and  id: 'file://{{env.LOBU_PROVIDER_HOOK}}'"


def check_scripts(config: ConfigFile, entries: Sequence[ProviderEntry]) -> Iterator[Finding]:
    """Yield a finding for each Python provider.

    promptfoo waits two minutes for each test when the file is missing, and hides the reason.
    """
    for entry in entries:
        if entry.kind != "python":
            continue
        name = script_name(entry.id)
        path = config.path.parent / name
        if "{{" in name:
            what = f"{name} names a variable that is not set"
        elif not path.is_file():
            what = f"there is no file {os.path.normpath(path)}"
        else:
            yield Finding(_CHECK, "ok", os.path.normpath(path), where=entry.where)
            continue
        yield Finding(_CHECK, "fail", what, _FIX, where=entry.where)
