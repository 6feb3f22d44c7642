"""Read JSON, JSON Lines and YAML files, and say what is wrong with one that cannot be read.

YAML needs PyYAML, which is no dependency of ours.
"""

from __future__ import annotations

import json
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

YAML_ENDINGS: Final = (".yaml", ".yml")
ENDINGS: Final = (".json", ".jsonl", *YAML_ENDINGS)


class UnreadableFileError(Exception):
    """A file cannot be read; the text says why, ``fix`` what to do.

    ``is_broken`` is false when the file may be fine and only this program cannot read it;
    ``is_mendable`` when it never will.
    """

    def __init__(
        self, why: str, fix: str, *, is_broken: bool = True, is_mendable: bool = True
    ) -> None:
        super().__init__(why)
        self.fix = fix
        self.is_broken = is_broken
        self.is_mendable = is_mendable


def load_file(path: Path) -> Any:
    """Return what a file holds; of JSON Lines a list.

    Raises:
        UnreadableFileError: missing, neither JSON nor YAML, or YAML without PyYAML.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise UnreadableFileError(
            f"{path} is a program, which is not run here",
            "Give the connection by options or LOBU_* variables instead.",
            is_broken=False,
            is_mendable=False,
        )
    text = read_text(path)
    if ending in YAML_ENDINGS:
        return parse_yaml(path, text)
    if ending == ".jsonl":
        return [value for _, value in parse_json_lines(path, text)]
    return _parse_json(path, text)


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8.

    Raises:
        UnreadableFileError: missing, not allowed, or not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UnreadableFileError(
            f"{path} cannot be read: {reason}",
            "Check the path and who may read it, and save it as UTF-8.",
        ) from None


def parse_json_lines(path: Path, text: str) -> list[tuple[int, Any]]:
    """Return the value of each line that is not blank, with the line's number from 1.

    Raises:
        UnreadableFileError: a line is not JSON.
    """
    lines = enumerate(text.split("\n"), 1)
    return [(number, _parse_json(path, line, number)) for number, line in lines if line.strip()]


def parse_yaml(path: Path, text: str, *, strict: bool = False) -> Any:
    """Return what a YAML text holds.

    Args:
        path: for the message.
        text: one document.
        strict: refuse a key that stands twice in a mapping, and read a date as text. Without it
            ``yes``, ``no``, ``on`` and ``off`` are text, as promptfoo reads them.

    Raises:
        UnreadableFileError: not YAML, or PyYAML is missing.
    """
    try:
        import yaml
    except ImportError:
        raise UnreadableFileError(
            f"{path} could not be read: reading YAML needs PyYAML", INSTALL_YAML, is_broken=False
        ) from None
    try:
        return yaml.load(text, _strict_loader() if strict else _promptfoo_loader())  # noqa: S506 - both are safe loaders
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = _yaml_fault(error, text)
        fix = _QUESTION_FIX if _is_question(error) else _YAML_FIX
        raise UnreadableFileError(f"{path} is not YAML: {what}", fix) from None


INSTALL_YAML: Final = (
    f"{shlex.quote(sys.executable)} -m pip install pyyaml  "
    "(the extra lobu-provider[yaml] brings it too)"
)
_JSON_FIX: Final = (
    "Correct it there or just before: JSON wants double quotes, no comments, and no comma before "
    "a closing bracket."
)
_YAML_FIX: Final = (
    "Correct it there or just before: close quotes and brackets, indent with spaces and not "
    "tabs, and put text with '{{', ': ' or ' #' in quotes."
)

_QUESTION_FIX: Final = (
    "Put text that ends in or holds '?' inside {...} or [...] in quotes. promptfoo reads it "
    "without them, many other programs do not."
)


def _is_question(error: Any) -> bool:
    """Whether PyYAML met a ``?`` in a text without quotes, where it alone expects a key."""
    inside = getattr(error, "context", None) in _IN_BRACKETS
    return inside and str(getattr(error, "problem", "")).endswith("'?'")


_IN_BRACKETS: Final = (
    "while parsing a flow mapping",
    "while parsing a flow sequence",
    "while parsing a flow node",
)


@cache
def _promptfoo_loader() -> type[Any]:
    import yaml

    class PromptfooLoader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML declares it for the instance
            first: [one for one in resolvers if first in "tTfF" or not one[0].endswith(":bool")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    return PromptfooLoader


@cache
def _strict_loader() -> type[Any]:
    import yaml

    class StrictLoader(yaml.SafeLoader):
        yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML declares it for the instance
            first: [found for found in resolvers if found[0] != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key_node, _ in node.value:
                key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
                if key is not None and key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, "a key stands twice", key_node.start_mark
                    )
                seen.add(key)
            return super().construct_mapping(node, deep)

    return StrictLoader


def _parse_json(path: Path, text: str, line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        what = f"{error.msg} in line {error.lineno + line - 1}, column {error.colno}"
        raise UnreadableFileError(f"{path} is not JSON: {what}", _JSON_FIX) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(
            f"{path} is not JSON that can be read: {type(error).__name__}", _JSON_FIX
        ) from None


def _yaml_fault(error: Any, text: str) -> str:
    """Say what and where; not in PyYAML's own words, which quote the file and so maybe a token."""
    what = getattr(error, "problem", None) or getattr(error, "reason", None)
    if what is None:
        return type(error).__name__
    mark = getattr(error, "problem_mark", None)
    position = getattr(error, "position", None)
    if mark is not None:
        what = f"{what} in line {mark.line + 1}, column {mark.column + 1}"
    elif isinstance(position, int):  # a character that no YAML may hold
        before = text[:position]
        what = f"{what} in line {before.count(chr(10)) + 1}"
    begun = getattr(error, "context_mark", None)
    context = getattr(error, "context", None)
    if begun is not None and context and mark is not None and begun.line != mark.line:
        what = f"{what}, {context} that begins in line {begun.line + 1}"
    return str(what)
