"""Texts of agents in the log of a GitHub workflow, where some lines are commands to the runner."""

from __future__ import annotations

import re
from typing import Final

_COMMAND: Final = re.compile(r"^(\s*)::|##(?=\[|vso\[)", re.MULTILINE)
"""``::error::`` at the start of a line, behind blanks, and the older ``##[error]`` anywhere, of
Azure Pipelines ``##vso[...]``."""


def without_commands(text: str) -> str:
    """Return a text in which a backslash keeps each such command from being one."""
    return _COMMAND.sub(lambda found: "#\\#" if found[1] is None else f"{found[1]}\\::", text)
