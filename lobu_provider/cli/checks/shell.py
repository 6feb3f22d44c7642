"""The only place where the doctor runs programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Answer(NamedTuple):
    """What came of a program."""

    text: str | None
    """What it printed on stdout; ``None`` when it failed or did not end in time."""
    late_s: float | None = None
    """The limit in seconds that it did not keep."""

    def fault(self, otherwise: str) -> str:
        """Return what is wrong where it gave no usable text: ``otherwise``, or that it was late."""
        return otherwise if self.late_s is None else f"did not answer within {self.late_s:.2g} s"


def run(arguments: Sequence[str], limit_s: float, *, cwd: Path | None = None) -> Answer:
    """Run a program and return what it prints on stdout."""
    try:
        done = subprocess.run(  # noqa: S603 - programs that promptfoo itself would run
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
            cwd=cwd,
            env=os.environ,
        )
    except subprocess.TimeoutExpired:
        return Answer(None, limit_s)
    except OSError:
        return Answer(None)
    return Answer(done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None)
