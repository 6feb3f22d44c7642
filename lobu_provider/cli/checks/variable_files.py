"""Files that stand for a variable's value: which ones promptfoo finds, and what turns they hold."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any, Final

from lobu_provider.errors import config_error
from lobu_provider.json_safe import json_safe
from lobu_provider.structured_file import UnreadableFileError, load_file, read_text

_PROGRAMS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".py")


class OnlyPromptfooError(Exception):
    """The value is made by a program."""


def is_reference(value: Any) -> bool:
    """Whether promptfoo takes a variable's value for the name of a file."""
    return isinstance(value, str) and value.startswith("file://")


def found_files(reference: str, folder: Path) -> list[str]:
    """Return a reference for each file that one with ``*`` means; itself where there is none.

    Args:
        reference: ``file://`` and a path or pattern.
        folder: the config's, where relative paths begin.
    """
    names = sorted(glob.glob(reference.removeprefix("file://"), root_dir=folder, recursive=True))
    return [f"file://{name}" for name in names] or [reference]


def transcript_of(reference: str, folder: Path) -> Any:
    """Return what a file holds as promptfoo hands it to the provider: a value or a text.

    Raises:
        OnlyPromptfooError: it is a program.
        ConfigError: it cannot be read.
    """
    path = folder / reference.removeprefix("file://")
    if path.suffix.lower() in _PROGRAMS:
        raise OnlyPromptfooError(reference)
    try:
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            return json_safe(load_file(path))
        return read_text(path)
    except UnreadableFileError as error:
        raise config_error(f"vars.transcript: {error}. {error.fix}") from None
