"""What a recorded row and its replay have in common: all but the ids and times of one call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_TIMES: Final = frozenset({"latencyMs", "firstTextMs", "bytes", "cassette"})

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_SIZE: Final = re.compile(r"it had [0-9,]+ bytes")
"""Times are of different lengths."""

MASKED: Final = "Something was masked in the cassette"


def comparable(response: Mapping[str, Any], *, without: Iterable[str] = ()) -> Any:
    """Return a row without what may differ: measured times, ids that a client makes anew."""
    return _plain(response, {*_TIMES, *without})


def _plain(value: Any, without: set[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item, without) for key, item in value.items() if key not in without}
    if isinstance(value, list):
        told = [item for item in value if not (isinstance(item, str) and MASKED in item)]
        return [_plain(item, without) for item in told]
    return _SIZE.sub("", _UUID.sub("ID", value)) if isinstance(value, str) else value


def shown(value: Any) -> list[str]:
    """Return a value in lines, for a difference that can be read."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
