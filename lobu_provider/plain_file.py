"""Open a file that is nothing but a file: a pipe or a device could be waited for without an end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
"""A flag for :func:`open_plain`: a path that is a symbolic link is refused."""


def open_plain(path: str | Path, flags: int) -> int:
    """Return the descriptor of a plain file; one that is made is readable by its owner only.

    Args:
        path: of the file.
        flags: of :func:`os.open`.

    Raises:
        OSError: it cannot be opened, or is a folder, pipe, socket or device.
        ValueError: such a path cannot be.
    """
    # Without O_NONBLOCK the opening of a pipe waits for its other end.
    file = os.open(path, flags | _NO_WAIT, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError("it is no plain file")
    return file
