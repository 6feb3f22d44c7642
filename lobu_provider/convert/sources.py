"""Which files a path stands for, and in which format each is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from lobu_provider.convert.astromesh_yaml import is_astromesh_eval, read_astromesh_eval
from lobu_provider.convert.hubzoid_markdown import read_hubzoid_case
from lobu_provider.convert.lobu_yaml import is_lobu_eval, read_lobu_eval
from lobu_provider.convert.suite import SourceError, Suite
from lobu_provider.structured_file import (
    YAML_ENDINGS,
    UnreadableFileError,
    parse_yaml,
    read_text,
)

Format = Literal["lobu", "hubzoid", "astromesh"]

READERS: Final[dict[Format, Callable[[Path, str | None], Suite]]] = {
    "lobu": read_lobu_eval,
    "hubzoid": read_hubzoid_case,
    "astromesh": read_astromesh_eval,
}


@dataclass
class Sources:
    """The eval files of some paths."""

    files: list[tuple[Path, Format]] = field(default_factory=list)
    passed_over: list[tuple[Path, str]] = field(default_factory=list)
    """Files in a folder that are no eval, and why."""
    problems: list[str] = field(default_factory=list)
    """Files that cannot be read."""


def find_sources(paths: list[Path], only: Format | None = None) -> Sources:
    """Return the eval files that paths stand for.

    Args:
        paths: files, folders of evals, or folders that hold ``evals`` or ``agents/NAME/evals``.
        only: the format of all files; by default each file's content tells.

    Raises:
        SourceError: a named file is of no known format, or a folder holds no eval.
        UnreadableFileError: PyYAML is missing.
    """
    found = Sources()
    for path in paths:
        if not path.is_dir():
            with _collecting(found):
                found.files.append((path, only or _format_of_named(path)))
            continue
        before = len(found.files) + len(found.problems)
        for folder in _eval_folders(path):
            _search(folder, only, found)
        manifest = path / "quality" / "manifest.yaml"
        if manifest.is_file():
            found.passed_over.append((manifest, _MANIFEST))
        if len(found.files) + len(found.problems) == before:
            raise SourceError(
                f"{path}: no eval here; expected *.yaml (Lobu), *.md (Hubzoid) or *.eval.yaml "
                "(Astromesh), in this folder, in evals/ or in agents/NAME/evals/"
            )
    found.files = list(dict.fromkeys(found.files))
    return found


_MANIFEST: Final = "which evals are required is asked of the results: lobu-provider report --gate"


def _eval_folders(path: Path) -> list[Path]:
    if (path / "evals").is_dir():
        return [path / "evals"]
    agents = path / "agents" if (path / "agents").is_dir() else path
    return sorted(agents.glob("*/evals")) or [path]


def _search(folder: Path, only: Format | None, found: Sources) -> None:
    yaml_files = [p for p in sorted(folder.iterdir()) if p.suffix.lower() in YAML_ENDINGS]
    formats: list[tuple[Path, Format]] = []
    for path in yaml_files if only != "hubzoid" else []:
        if path.name.startswith("promptfooconfig."):
            continue
        with _collecting(found):
            kind = only or _format_of_yaml(path)
            if kind is None:
                found.passed_over.append((path, "no eval: neither 'turns' nor 'kind: Eval'"))
            else:
                formats.append((path, kind))
    found.files += formats
    has_lobu = any(kind == "lobu" for _, kind in formats)
    if has_lobu or only not in (None, "hubzoid"):
        return  # Markdown beside Lobu's evals is their rubrics and report
    found.files += [(path, "hubzoid") for path in _markdown(folder)]


@contextmanager
def _collecting(found: Sources) -> Iterator[None]:
    """Go on with the other files where one cannot be read, and tell of it in the end."""
    try:
        yield
    except SourceError as error:
        found.problems += error.problems
    except UnreadableFileError as error:
        if not error.is_broken:
            raise
        found.problems.append(f"{error}. {error.fix}")


def _markdown(folder: Path) -> Iterator[Path]:
    """Yield the cases under a folder: not drafts, notes and test data."""
    for path in sorted(folder.rglob("*.md")):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(("_", ".")) for part in parts) and parts[0] != "fixtures":
            yield path


def _format_of_named(path: Path) -> Format:
    if path.suffix.lower() == ".md":
        return "hubzoid"
    kind = _format_of_yaml(path) if path.suffix.lower() in YAML_ENDINGS else None
    if kind is None:
        raise SourceError(
            f"{path}: no known eval format; expected YAML with 'turns' (Lobu) or 'kind: Eval' "
            "(Astromesh), or Markdown (Hubzoid); --from names the format"
        )
    return kind


def _format_of_yaml(path: Path) -> Format | None:
    data = parse_yaml(path, read_text(path), strict=True)
    if is_astromesh_eval(data) or path.name.endswith((".eval.yaml", ".eval.yml")):
        return "astromesh"
    return "lobu" if is_lobu_eval(data) else None
