"""Whether this runs in a CI system."""

from __future__ import annotations

import os


def is_ci() -> bool:
    """Return whether the variable ``CI`` is set to anything but ``false`` or ``0``."""
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false")
