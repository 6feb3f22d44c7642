"""Whether promptfoo's config is a program, whose functions a Python hook cannot see at all.

A function that is an assertion leaves a hole behind; a ``transform`` leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PROGRAMS: Final = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_ENDS: Final = (".yaml", ".yml", ".json", ".cjs", ".cts", ".js", ".mjs", ".mts", ".ts")
"""In the order in which promptfoo looks for ``promptfooconfig``."""
_PS_LIMIT_S: Final = 1.0


def config_is_a_program(arguments: Sequence[str] | None, folder: Path) -> bool:
    """Return whether promptfoo reads a JavaScript or TypeScript config, as far as can be told.

    Args:
        arguments: promptfoo's own command line, or ``None`` where it cannot be read.
        folder: its working directory.
    """
    if arguments is None:
        return _default_is_a_program(folder)
    started = " ".join(arguments[:2])
    if "promptfoo" not in started.lower():
        return True  # somebody's own program, which calls promptfoo as a library
    given = arguments[2:]
    named = [value.partition("=")[2] or value for value in given if not _is_output(value, given)]
    if any(value.endswith(_PROGRAMS) for value in named):
        return True
    folders = [folder / value for value in named if value and (folder / value).is_dir()]
    has_config = any(value.startswith(("-c", "--config")) for value in given)
    return any(_default_is_a_program(place) for place in (folders if has_config else [folder]))


def _is_output(value: str, given: Sequence[str]) -> bool:
    before = given[given.index(value) - 1] if value in given[1:] else ""
    return before in ("-o", "--output")


def _default_is_a_program(folder: Path) -> bool:
    found = (folder / f"promptfooconfig{end}" for end in _ENDS)
    first = next((path for path in found if path.is_file()), None)
    return first is not None and first.suffix in _PROGRAMS


def arguments_of_parent() -> list[str] | None:
    """Return the command line of the process that started this one, where it can be read."""
    pid = os.getppid()
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return _arguments_by_ps(pid)
    return [part.decode("utf-8", "replace") for part in raw.split(b"\0")][:-1] or None


def _arguments_by_ps(pid: int) -> list[str] | None:
    if os.name != "posix":
        return None
    import subprocess  # not needed on Linux

    try:
        done = subprocess.run(  # noqa: S603 - the one argument that varies is a number
            ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").split() or None
