"""The only place where the doctor runs programs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path


def run(arguments: Sequence[str], limit_s: float, *, cwd: Path | None = None) -> str | None:
    """Return what a program prints on stdout; ``None`` when it fails or does not end in time."""
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
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
