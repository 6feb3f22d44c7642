"""Environment variables as a provider sees them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final


class Environment:
    """Looks variables up in the config file's ``env:`` block, then in the process environment."""

    def __init__(self, config_env: Mapping[str, Any] | None) -> None:
        self._config_env = config_env or {}

    def get(self, name: str) -> str | None:
        """Return the value without surrounding white space; ``None`` when unset or blank."""
        for value in (self._config_env.get(name), _of_process(name)):
            if isinstance(value, (str, int, float)) and str(value).strip():
                return str(value).strip()
        return None


def _of_process(name: str) -> str | None:
    try:
        return os.environ.get(name)
    except UnicodeEncodeError:  # a lone surrogate: no variable can be called that
        return None


_USUAL_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


def is_usual_name(name: str) -> bool:
    """Return whether variables are named like this; anything else may be a misplaced token."""
    return _USUAL_NAME.fullmatch(name) is not None


def quoted_name(name: str) -> str:
    """Return a variable's name as a message quotes it; not what may be a secret put there."""
    return repr(name) if is_usual_name(name) else "of that name (not shown)"
