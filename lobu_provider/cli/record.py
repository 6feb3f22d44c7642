"""``lobu-provider record``: a promptfoo eval whose conversations become cassettes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from lobu_provider.cli.common import Command, ExitCode, say
from lobu_provider.cli.drift import drift_options, report_drift


@click.command(
    cls=Command,
    short_help="Run promptfoo eval and record every conversation.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True},
)
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--drift",
    "with_drift",
    is_flag=True,
    help="Record into a temporary folder and compare; the committed cassettes stay as they are.",
)
@click.option(
    "--against",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With --drift: what to compare with. Default: the 'cassettes' of CONFIG.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="With --drift: record into this folder, and keep it.",
)
@drift_options("With --drift: ")
@click.option(
    "--promptfoo",
    "program",
    metavar="PROGRAM",
    help="Default: promptfoo of node_modules or PATH, else npx promptfoo@0.121.20.",
)
def record(
    config: Path,
    arguments: tuple[str, ...],
    with_drift: bool,
    against: Path | None,
    keep: Path | None,
    with_text: bool,
    as_json: bool,
    junit_path: Path | None,
    strict: bool,
    program: str | None,
) -> None:
    """Run 'promptfoo eval -c CONFIG' with LOBU_CASSETTE_MODE=record.

    ARGUMENTS go to promptfoo. Caching is switched off: a cached row has no conversation.

    \b
    Examples:
      lobu-provider record promptfooconfig.yaml
      lobu-provider record promptfooconfig.yaml --drift --strict -j 4

    Exit codes: promptfoo's own (100: a row failed), also with --drift, unless promptfoo made no
    recording at all (1); with --drift otherwise 0, or 1 with --strict where something drifted; 2
    where CONFIG names no folder of cassettes, and promptfoo is not started.
    """
    command = [*_promptfoo(program, config), "eval", "-c", str(config), "--no-cache", *arguments]
    environment = {**os.environ, "LOBU_CASSETTE_MODE": "record"}
    if not with_drift:
        _refuse_without_folder(config)
        raise click.exceptions.Exit(_run(command, environment, stdout=None))
    old = against or _folder_of(config)
    with tempfile.TemporaryDirectory(prefix="lobu-drift-") as folder:
        new = (keep or Path(folder)).absolute()
        new.mkdir(parents=True, exist_ok=True)
        told = {**environment, _FOLDER: str(new)}
        code = _run(command, told, stdout=_STDERR)  # ours is for what drifted
        if not any(new.rglob("*.jsonl")):
            say(f"promptfoo ended with exit code {code}, and nothing was recorded.")
            raise click.exceptions.Exit(ExitCode.FAILED)
        report_drift(
            old, new, with_text=with_text, as_json=as_json, junit_path=junit_path, strict=strict
        )
    if code not in (0, _ROW_FAILED):
        raise click.exceptions.Exit(code)


_FOLDER = "LOBU_CASSETTES"

_ROW_FAILED = 100
"""promptfoo's exit code for a failed row, which is no matter of drift."""


_STDERR = 2


def _run(command: Sequence[str], environment: dict[str, str], *, stdout: int | None) -> int:
    try:
        done = subprocess.run(command, env=environment, check=False, stdout=stdout)  # noqa: S603
        return done.returncode
    except OSError as exc:
        say(f"error: {command[0]} cannot be started: {exc.strerror}. Give it by --promptfoo.")
        raise click.exceptions.Exit(ExitCode.USAGE) from None


def _promptfoo(program: str | None, config: Path) -> list[str]:
    from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE, find_promptfoo

    found = program or find_promptfoo([config.absolute().parent, Path.cwd()])
    return [str(found)] if found is not None else ["npx", "--yes", f"promptfoo@{FOR_ANY_NODE}"]


def _refuse_without_folder(config: Path) -> None:
    """Refuse what would make every row an error; a config that only promptfoo reads is let pass."""
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    if os.environ.get(_FOLDER, "").strip():
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
            f"or set {_FOLDER}."
        )
        raise click.exceptions.Exit(ExitCode.USAGE)


def _folder_of(config: Path) -> Path:
    """Return the folder of cassettes that all Lobu providers of a config share."""
    from lobu_provider.cli.checks.config_file import read_config
    from lobu_provider.structured_file import UnreadableFileError

    try:
        entries = read_config(config).providers
    except UnreadableFileError as exc:
        say(f"error: {exc}. {exc.fix} Or name the committed cassettes by --against.")
        raise click.exceptions.Exit(ExitCode.USAGE) from None
    named = {entry.options["config"].get("cassettes") for entry in entries} - {None, ""}
    given = os.environ.get(_FOLDER, "").strip()
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
