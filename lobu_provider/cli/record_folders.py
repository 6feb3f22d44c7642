"""Which folders ``lobu-provider record`` reads and writes, and which it refuses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from lobu_provider.cli.common import ExitCode, say

FOLDER: Final = "LOBU_CASSETTES"
"""The variable that wins over the config's ``cassettes``."""


def refuse_without_folder(config: Path) -> None:
    """Refuse what would make every row an error; a config that only promptfoo reads is let pass."""
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    if os.environ.get(FOLDER, "").strip():
        return
    try:
        entries = read_config(config).providers
    except UnreadableFileError:
        return
    lacking = [entry.where for entry in entries if not entry.options["config"].get("cassettes")]
    if lacking:
        say(
            f"error: {config}: no folder of cassettes is given in {', '.join(lacking)}, so each of "
            "its rows would be an error. Add to its config:  cassettes: cassettes  "
            f"or set {FOLDER}."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)


def folder_of(config: Path) -> Path:
    """Return the folder of cassettes that all Lobu providers of a config share."""
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        entries = read_config(config).providers
    except UnreadableFileError as exc:
        say(f"error: {exc}. {exc.fix} Or name the committed cassettes by --against.")
        raise click.exceptions.Exit(ExitCode.USAGE) from None
    named = {entry.options["config"].get("cassettes") for entry in entries} - {None, ""}
    given = os.environ.get(FOLDER, "").strip()
    names = {given} if given else named
    folders = {config.parent / Path(str(name)).expanduser() for name in names}
    if len(folders) != 1:
        found = ", ".join(sorted(map(str, folders))) or "none"
        say(f"error: {config} names not one folder of cassettes but {found}. Give --against.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    (folder,) = folders
    if not folder.is_dir():
        say(f"error: there is no folder {folder} to compare with. Record first, without --drift.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    return folder


def refuse_empty(old: Path) -> None:
    """Refuse a folder without any cassette: all of the run would only be new."""
    from lobu_provider.cassettes.shelf import Shelf

    if not any(Shelf(old).files()):
        say(
            f"error: {old} holds no cassette to compare with. Record first, without --drift, or "
            "name the committed ones by --against."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)


def refuse_to_keep_in(keep: Path, old: Path) -> None:
    """Refuse a folder for new recordings that would let old ones count as made by this run."""
    if keep.resolve().is_relative_to(old.resolve()):
        say(
            f"error: --keep {keep} is in {old}, which it is compared with. Name a folder outside "
            "of it."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)
    if keep.is_dir() and any(keep.rglob("*.jsonl")):
        say(
            f"error: --keep {keep} holds recordings already, and those would be compared too. "
            "Remove them, or name another folder."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)
