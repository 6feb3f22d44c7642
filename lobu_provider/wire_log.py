"""A log of requests, replies and event frames for a row that nobody can explain: LOBU_WIRE_LOG.

One JSON object a line, in the order of arrival, of all processes that name the same file. Headers
are never in it, secrets are masked, and the file is readable by its owner only. What the agent and
the user said is in it as it was.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from lobu_provider.errors import config_error
from lobu_provider.json_safe import json_safe
from lobu_provider.redaction import MASK, Redactor

MAX_TEXT: Final = 100_000
"""Characters of one text in a line."""

_TOKEN_FIELD: Final = re.compile(r'("[a-zA-Z_]*token"\s*:\s*")[^"]*', re.IGNORECASE)
"""In a body: the create reply holds a session token that nobody knew before."""


class WireLog:
    """Appends lines to a file.

    Args:
        path: of the file; made if it is not there.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.write("opened", ())

    def write(self, what: str, secrets: Iterable[str], **details: Any) -> None:
        """Append a line.

        Args:
            what: ``request``, ``reply``, ``frame``, ``ended``.
            secrets: kept out of the line.
            details: texts and numbers to tell.
        """
        redactor = Redactor(secrets)
        told = {
            key: redactor.text(_TOKEN_FIELD.sub(rf"\1{MASK}", value[:MAX_TEXT]))
            if isinstance(value, str)
            else value
            for key, value in details.items()
            if value is not None
        }
        now = datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps(json_safe({"at": now, "pid": os.getpid(), "what": what, **told}))
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            descriptor = os.open(self._path, flags, 0o600)
            with open(descriptor, "ab", buffering=0) as file:
                file.write(line.encode() + b"\n")  # in one piece: others write too
        except OSError as exc:
            raise config_error(
                f"LOBU_WIRE_LOG: {self._path} cannot be written: {exc.strerror or exc}. "
                "Name a file in a folder that exists, or unset the variable."
            ) from exc
