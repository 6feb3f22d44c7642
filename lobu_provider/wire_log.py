"""A log of requests, replies and event frames for a row that nobody can explain: LOBU_WIRE_LOG.

One JSON object a line, in the order of arrival, of all processes that name the same file. Headers
are never in it, secrets are masked, and the file is readable by its owner only. What the agent and
the user said is in it as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from lobu_provider.errors import config_error
from lobu_provider.json_safe import json_safe, parse_json
from lobu_provider.json_starts import start_of
from lobu_provider.plain_file import open_plain
from lobu_provider.redaction import CUT, Redactor

MAX_TEXT: Final = 100_000
"""Characters of one text in a line."""


class WireLog:
    """Appends lines to a file.

    Args:
        path: of the file; made if it is not there.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_broken = False
        try:
            self._append("opened", {})
        except (OSError, ValueError) as exc:  # ValueError: a path with NUL or a lone surrogate
            reason = exc.strerror if isinstance(exc, OSError) else None
            raise config_error(
                f"LOBU_WIRE_LOG: {str(path)!r} cannot be written: {reason or exc}. Name a plain "
                "file in a folder that exists, or unset the variable."
            ) from exc

    def write(self, what: str, secrets: Iterable[str], **details: Any) -> None:
        """Append a line; a file that cannot be written any more is told of once, on stderr.

        Args:
            what: ``request``, ``reply``, ``frame``, ``ended``.
            secrets: kept out of the line.
            details: texts and numbers to tell.
        """
        if self._is_broken:
            return
        redactor = Redactor(secrets)
        told = {key: _told(value, redactor) for key, value in details.items() if value is not None}
        try:
            self._append(what, told)
        except OSError as exc:
            self._is_broken = True
            _say(f"LOBU_WIRE_LOG: {self._path} cannot be written any more: {exc}\n")

    def _append(self, what: str, told: Mapping[str, Any]) -> None:
        now = datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps(json_safe({"at": now, "pid": os.getpid(), "what": what, **told}))
        descriptor = open_plain(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with open(descriptor, "ab", buffering=0) as file:
            file.write(line.encode() + b"\n")  # in one piece: others write too


def _told(value: Any, redactor: Redactor) -> Any:
    if not isinstance(value, str):
        return value
    try:  # as JSON: a secret, or the key it is under, may be written with escapes
        read = parse_json(value)
        if len(value) > MAX_TEXT:  # looking for secrets in all of it would take the call's time
            read = start_of(read, MAX_TEXT, redactor, CUT)
        told = json.dumps(redactor.json_text(read), ensure_ascii=False)
        text = redactor.values(told)
    except (ValueError, RecursionError):
        return redactor.shortened(value, MAX_TEXT, CUT)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}{CUT}"


def _say(text: str) -> None:
    """Tell it on stderr, if there is somebody to be told: a log costs no call its row."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):  # a terminal or pipe that was closed
            sys.stderr.write(text)
