"""Environment variables as a provider sees them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


class Environment:
    """Looks variables up in the config file's ``env:`` block, then in the process environment."""

    def __init__(self, config_env: Mapping[str, Any] | None) -> None:
        self._config_env = config_env or {}

    def get(self, name: str) -> str | None:
        """Return the value without surrounding white space; ``None`` when unset or blank."""
        for value in (self._config_env.get(name), os.environ.get(name)):
            if isinstance(value, (str, int, float)) and str(value).strip():
                return str(value).strip()
        return None
