"""Files that a command writes for the user: never over another without being told to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from lobu_provider.errors import config_error


def is_there(path: Path) -> bool:
    """Whether something has this name, be it a link that leads nowhere."""
    return path.exists() or path.is_symlink()


def refuse_to_overwrite(paths: Iterable[Path], force: bool) -> None:
    """Refuse before anything is written when one of the files is there.

    Raises:
        ConfigError: a file exists, and ``force`` is not given.
    """
    there = [str(path) for path in paths if is_there(path)]
    if there and not force:
        verb = "exists" if len(there) == 1 else "exist"
        raise config_error(
            f"{', '.join(there)} {verb} already; nothing was written. --force overwrites."
        )


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none of it; its folder is made.

    Raises:
        ConfigError: the system does not let us.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(part, 0o666 & ~umask)  # mkstemp's own mode hides the file from colleagues
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise config_error(f"{path} cannot be written: {error.strerror or error}") from None
