"""promptfoo's own limit on one call of a Python provider."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Final

_DEFAULT_MS: Final = 300_000.0


def host_limit_s(options: Mapping[str, Any] | None) -> float:
    """Return the limit in seconds: ``config.timeout``, else ``REQUEST_TIMEOUT_MS``, else 300 s.

    When it runs out, promptfoo reports its own error, drops what we have, and lets the call run on
    while the next ones queue behind it.
    """
    config = options.get("config") if isinstance(options, Mapping) else None
    given = config.get("timeout") if isinstance(config, Mapping) else None
    for value in (given, os.environ.get("REQUEST_TIMEOUT_MS")):
        limit_ms = _positive(value)
        if limit_ms is not None:
            return limit_ms / 1000
    return _DEFAULT_MS / 1000


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None
