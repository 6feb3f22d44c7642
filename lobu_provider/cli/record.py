"""``lobu-provider record``: a promptfoo eval whose conversations become cassettes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from lobu_provider.cli.child_program import run_to_end
from lobu_provider.cli.common import Command, ExitCode, say
from lobu_provider.cli.drift import drift_options, report_drift
from lobu_provider.cli.record_folders import (
    folder_of,
    refuse_empty,
    refuse_env_files,
    refuse_to_keep_in,
    refuse_without_folder,
)


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
    help="With --drift: record into this folder, which holds no recording yet, and keep it.",
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

    \b
    Exit codes: the first that fits
      128+N    interrupted by signal N (130 by Ctrl-C), and promptfoo too; nothing is compared
      2        an option that needs --drift, a folder that cannot be used; promptfoo is not started
      1        with --drift: nothing was recorded
      not 0    promptfoo's own, e.g. 100: a row failed; set PROMPTFOO_FAILED_TEST_EXIT_CODE=0 where
               failed rows are no matter
      1        with --drift --strict: something drifted, is missing or cannot be read
      0        all else
    """
    if not with_drift:
        _refuse_without_drift()
        refuse_without_folder(config)
    refuse_env_files(config, arguments)
    command = [*_promptfoo(program, config), "eval", "-c", str(config), "--no-cache", *arguments]
    from lobu_provider.config.cassette_rules import FOLDER_VARIABLE, MODE_VARIABLE

    environment = {**os.environ, MODE_VARIABLE: "record"}
    if not with_drift:
        raise click.exceptions.Exit(_run(command, environment, stdout=None))
    old, sets = (against, None) if against is not None else folder_of(config)
    refuse_empty(old, sets)
    if keep is not None:
        refuse_to_keep_in(keep, old)
    with tempfile.TemporaryDirectory(prefix="lobu-drift-") as folder:
        new = (keep or Path(folder)).absolute()
        new.mkdir(parents=True, exist_ok=True)
        told = {**environment, FOLDER_VARIABLE: str(new)}
        code = _run(command, told, stdout=_STDERR)  # ours is for what drifted
        if not any(new.rglob("*.jsonl")):
            say(f"promptfoo ended with exit code {code}, and nothing was recorded.")
            raise click.exceptions.Exit(ExitCode.FAILED)
        has_drifted = report_drift(
            old, new, sets=sets, with_text=with_text, as_json=as_json, junit_path=junit_path
        )
    if code:
        say(f"promptfoo ended with exit code {code}{_ROW_FAILED if code == 100 else '.'}")
        raise click.exceptions.Exit(code)
    if strict and has_drifted:
        raise click.exceptions.Exit(ExitCode.FAILED)


_ROW_FAILED: Final = (
    ": a row failed, and so does this command. Where only drift counts: "
    "PROMPTFOO_FAILED_TEST_EXIT_CODE=0"
)

_STDERR: Final = 2


_ONLY_WITH_DRIFT: Final = ("against", "keep", "with_text", "as_json", "junit_path", "strict")
"""The parameters that only a comparison has."""


def _refuse_without_drift() -> None:
    """Refuse an option of --drift before the committed cassettes are overwritten.

    Raises:
        click.UsageError: one was given.
    """
    context = click.get_current_context()
    for option in context.command.params:
        if option.name not in _ONLY_WITH_DRIFT:
            continue
        if context.get_parameter_source(option.name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"{option.opts[0]} needs --drift: without it the committed cassettes are recorded "
                "anew, and nothing is compared"
            )


def _run(command: Sequence[str], environment: dict[str, str], *, stdout: int | None) -> int:
    try:
        code, received = run_to_end(command, environment, stdout=stdout)
    except OSError as exc:
        say(f"error: {command[0]} cannot be started: {exc.strerror}. Give it by --promptfoo.")
        raise click.exceptions.Exit(ExitCode.USAGE) from None
    if received is not None:
        say(f"Interrupted; promptfoo ended with exit code {code}.")
        raise click.exceptions.Exit(128 + received)
    return code


def _promptfoo(program: str | None, config: Path) -> list[str]:
    from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE, find_promptfoo

    found = program or find_promptfoo([config.absolute().parent, Path.cwd()])
    return [str(found)] if found is not None else ["npx", "--yes", f"promptfoo@{FOR_ANY_NODE}"]
