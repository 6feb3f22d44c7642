"""Whether promptfoo's config is a program, whose functions a Python hook cannot see at all.

A function that is an assertion leaves a hole behind; a ``transform`` leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lobu_provider.process_mark import ps

_PROGRAMS: Final = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts")
_ENDS: Final = (".yaml", ".yml", ".json", ".cjs", ".cts", ".js", ".mjs", ".mts", ".ts")
"""In the order in which promptfoo looks for ``promptfooconfig``."""
_PS_LIMIT_S: Final = 1.0
_OUTPUT: Final = ("-o", "--output")
_OUTPUT_WITH_VALUE: Final = ("-o", "--output=")


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
    named = [
        value.partition("=")[2] or value
        for before, value in zip(["", *given], given, strict=False)
        if before not in _OUTPUT and not value.startswith(_OUTPUT_WITH_VALUE)
    ]
    if any(value.endswith(_PROGRAMS) for value in named):
        return True
    folders = [folder / value for value in named if value and (folder / value).is_dir()]
    has_config = any(value.startswith(("-c", "--config")) for value in given)
    return any(_default_is_a_program(place) for place in (folders if has_config else [folder]))


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
        return (ps(pid, "args", _PS_LIMIT_S) or "").split() or None
    return [part.decode("utf-8", "replace") for part in raw.split(b"\0")][:-1] or None
