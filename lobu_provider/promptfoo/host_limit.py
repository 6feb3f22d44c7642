"""promptfoo's own limit on one call of a Python provider."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any, Final

_DEFAULT_MS: Final = 300_000.0
_VARIABLE: Final = "REQUEST_TIMEOUT_MS"


def host_limit_s(options: Mapping[str, Any] | None) -> float:
    """Return the limit in seconds: ``config.timeout``, else ``REQUEST_TIMEOUT_MS``, else 300 s.

    promptfoo takes the variable from the ``env`` of its config before that of the process, and
    reads the digits that it begins with.

    When it runs out, promptfoo reports its own error, drops what we have, and lets the call run on
    while the next ones queue behind it.
    """
    config = options.get("config") if isinstance(options, Mapping) else None
    given = config.get("timeout") if isinstance(config, Mapping) else None
    env = options.get("env") if isinstance(options, Mapping) else None
    configured = env.get(_VARIABLE) if isinstance(env, Mapping) else None
    for limit_ms in (
        _positive(given),
        _positive(_digits(configured)),
        _positive(_digits(os.environ.get(_VARIABLE))),
    ):
        if limit_ms is not None:
            return limit_ms / 1000
    return _DEFAULT_MS / 1000


def _digits(value: Any) -> Any:
    """What JavaScript's ``parseInt`` reads of a text."""
    found = re.match(r"\s*\+?(\d+)", value, re.ASCII) if isinstance(value, str) else None
    return value if found is None else found.group(1)


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None
