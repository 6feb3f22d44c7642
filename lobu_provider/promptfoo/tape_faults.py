"""What a row says where a cassette is missing, or cannot be replayed or recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lobu_provider.cassettes.shelf import Shelf
from lobu_provider.config.cassette_rules import MODE_VARIABLE
from lobu_provider.errors import LobuError, error_for, failure


def record_again() -> str:
    """Return the sentence that says how a cassette is recorded."""
    return (
        f"Record it with: {MODE_VARIABLE}=record promptfoo eval -c CONFIG "
        "(or lobu-provider record CONFIG)."
    )


def missing(shelf: Shelf, about: Mapping[str, Any], shown: str) -> LobuError:
    """Return the error of a conversation without a cassette, with the one that is most like it."""
    near = shelf.nearest(about)
    nearest = (
        f"The folder {str(shelf.folder)!r} holds no cassette at all."
        if near is None
        else f"The nearest one is {near.path.name}: {near.difference}."
    )
    return fault(f"There is no cassette {shown} for this conversation. {nearest} {record_again()}")


def clash(shown: str) -> str:
    """Say that one run recorded two different conversations for one cassette."""
    return (
        f"This run recorded another conversation for the cassette {shown}, which is therefore not "
        "replayed any more: the agent was told the same, and did something else. Set another "
        "'cassetteSet' for each provider, or give the rows of a pinned thread a metadata "
        "'conversationId', or other words; then record the suite again."
    )


def fault(message: str) -> LobuError:
    """Return the error of a call for which a cassette cannot be used."""
    return error_for(failure("cassette", message, phase="config"))


def shown_path(path: Path, base_dir: Path) -> str:
    """Return a path as it is told: from the config file's folder where it lies in there."""
    inside = path.relative_to(base_dir) if path.is_relative_to(base_dir) else path
    return inside.as_posix()
