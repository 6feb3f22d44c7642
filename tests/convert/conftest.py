"""Fixtures: source files written for a test, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.convert.conversion import Conversion, convert
from lobu_provider.convert.suite import SourceError

SOURCES = Path(__file__).parent / "sources"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a source file and returns its path."""

    def made(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return made


def converted_tests(*paths: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The converted tests by description."""
    (file,) = convert(list(paths), **options).files
    return {test["description"]: test for test in file.config["tests"]}


def problems_of(path: Path) -> list[str]:
    """The faults that a source is refused for, without the file's name."""
    with pytest.raises(SourceError) as caught:
        convert([path])
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def notes_of(done: Conversion, kind: str) -> list[tuple[str, str]]:
    """Field and text of the notes of a kind."""
    return [(note.field, note.text) for note in done.notes if note.kind == kind]
