"""Which folders ``lobu-provider record`` reads and writes, and which it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lobu_provider.cli.common import ExitCode, say

if TYPE_CHECKING:
    from lobu_provider.cli.checks.config_providers import ProviderEntry


def refuse_without_folder(config: Path) -> None:
    """Refuse what would make every row an error; a config that only promptfoo reads is let pass."""
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.cli.checks.config_values import is_in_env_file
    from lobu_provider.config.cassette_rules import FOLDER_VARIABLE
    from lobu_provider.structured_file import UnreadableFileError

    try:
        entries = read_config(config).providers
    except UnreadableFileError:
        return
    lacking = [entry.where for entry in entries if _named_by(entry) is None]
    if lacking and not is_in_env_file(FOLDER_VARIABLE):
        say(
            f"error: {config}: no folder of cassettes is given in {', '.join(lacking)}, so each of "
            "its rows would be an error. Add to its config:  cassettes: cassettes  "
            f"or set {FOLDER_VARIABLE}."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)


def refuse_env_files(config: Path, arguments: Sequence[str]) -> None:
    """Refuse an env file that says where or whether to record: it wins over what is set here.

    Args:
        config: may name files under ``commandLineOptions.envPath``.
        arguments: of promptfoo, among them ``--env-file``.
    """
    from lobu_provider.config.cassette_rules import FOLDER_VARIABLE, MODE_VARIABLE

    for path in [*_after_option(arguments), *_env_paths_of(config)]:
        text = path.read_text("utf-8", "replace") if path.is_file() else ""
        sets = rf"^\s*(?:export\s+)?({FOLDER_VARIABLE}|{MODE_VARIABLE})\s*="
        found = re.search(sets, text, re.MULTILINE)
        if found is not None:
            say(
                f"error: {path} sets {found[1]}, and promptfoo lets a file that is named for it "
                f"win over what record sets. Remove the line, or export {found[1]} in the shell."
            )
            raise click.exceptions.Exit(ExitCode.USAGE)


def _after_option(arguments: Sequence[str]) -> Iterator[Path]:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        option, _, value = argument.partition("=")
        if option in ("--env-file", "--env-path"):
            yield from (Path(one) for one in (value or following).split(",") if one)


def _env_paths_of(config: Path) -> list[Path]:
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        options = read_config(config).data.get("commandLineOptions")
    except UnreadableFileError:
        return []
    given = options.get("envPath") if isinstance(options, dict) else None
    listed = given if isinstance(given, list) else [given]
    named = [Path(one) for one in listed if isinstance(one, str) and one]
    return [*named, *(config.parent / path for path in named)]


def folder_of(config: Path) -> tuple[Path, frozenset[str]]:
    """Return the folder of cassettes that all Lobu providers of a config share, and their sets.

    A set is a folder below; ``.`` stands for none.
    """
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        entries = read_config(config).providers
    except UnreadableFileError as exc:
        say(f"error: {exc}. {exc.fix} Or name the committed cassettes by --against.")
        raise click.exceptions.Exit(ExitCode.USAGE) from None
    names = {_named_by(entry) for entry in entries} - {None}
    folders = {config.parent / Path(str(name)).expanduser() for name in names}
    if len(folders) != 1:
        found = ", ".join(sorted(map(str, folders))) or "none"
        say(f"error: {config} names not one folder of cassettes but {found}. Give --against.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    (folder,) = folders
    if not folder.is_dir():
        say(f"error: there is no folder {folder} to compare with. Record first, without --drift.")
        raise click.exceptions.Exit(ExitCode.USAGE)
    sets = (str(entry.options["config"].get("cassetteSet") or ".").strip() for entry in entries)
    return folder, frozenset(sets)


def _named_by(entry: ProviderEntry) -> str | None:
    """The folder that a provider records into, as it is written."""
    from lobu_provider.config.cassette_rules import FOLDER_VARIABLE, cassette_variable
    from lobu_provider.config.environment import Environment

    named = cassette_variable(Environment(entry.options.get("env")), FOLDER_VARIABLE)
    return named or str(entry.options["config"].get("cassettes") or "").strip() or None


def refuse_empty(old: Path, sets: frozenset[str] | None) -> None:
    """Refuse a folder without any cassette that counts: all of the run would only be new."""
    from lobu_provider.cassettes.shelf import Shelf

    there = {path.parent.relative_to(old).as_posix() for path in Shelf(old).files()}
    if not (there if sets is None else there & sets):
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
