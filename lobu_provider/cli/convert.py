"""``lobu-provider convert``: evals of other formats become a promptfoo config."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lobu_provider.cli.common import Command, ExitCode, print_json, printable, say
from lobu_provider.cli.writing import refuse_to_overwrite, write_text

if TYPE_CHECKING:
    from lobu_provider.convert.conversion import Conversion

_FORMATS: Final = ("lobu", "hubzoid", "astromesh")


@click.command(cls=Command, short_help="Turn evals of other formats into a promptfoo config.")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH...",
)
@click.option(
    "--from",
    "source_format",
    type=click.Choice(_FORMATS),
    help="The format of all files. Default: what each file looks like.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The one file to write; - for stdout. Default: promptfooconfig.yaml beside the evals.",
)
@click.option(
    "--agent",
    metavar="ID",
    help="The agent in all tests. Default: what the evals or their folder name, else LOBU_AGENT "
    "when promptfoo runs.",
)
@click.option(
    "--grader",
    metavar="PROVIDER",
    help="promptfoo's name for the model that grades, e.g. anthropic:messages:MODEL.",
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@click.option("--strict", is_flag=True, help="Exit 1 when something could not be carried over.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def convert(
    paths: tuple[Path, ...],
    source_format: Any,
    output: Path | None,
    agent: str | None,
    grader: str | None,
    force: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Turn evals of other formats into promptfooconfig.yaml, and tell what was lost.

    A PATH is a file, a folder of evals, or a folder above one (evals/, agents/NAME/evals/). Read
    are Lobu's older YAML evals, Hubzoid's Markdown cases and Astromesh's *.eval.yaml. Needs PyYAML:
    pip install 'lobu-provider[yaml]'

    The report lists what was not carried over, what means something slightly different, and what
    is to be done before a run. Nothing is written when a source file is wrong.

    \b
    Examples:
      lobu-provider convert agents/support/evals
      lobu-provider convert my-hub --agent support --grader anthropic:messages:MODEL
      lobu-provider convert config/evals/lucia.eval.yaml -o promptfooconfig.yaml --json

    \b
    Exit codes:
      0  written; the report may hold losses
      1  with --strict: written, and something was not carried over
      2  a source file is wrong, a file exists already, wrong option, PyYAML is missing;
         nothing was written

    With --json stdout holds {files: [{path, tests}], notes: [{kind, source, case, field, text}],
    passedOver: [{path, reason}]}; kind is lost, differs or todo. Wrong sources give
    {problems: [text]}.
    """
    from lobu_provider.convert.conversion import convert as convert_paths
    from lobu_provider.convert.suite import SourceError
    from lobu_provider.structured_file import UnreadableFileError

    to_stdout = output is not None and str(output) == "-"
    if to_stdout and as_json:
        raise click.UsageError("--json prints the report on stdout; name a file with --output")
    try:
        done = convert_paths(
            list(paths),
            source_format=source_format,
            agent=agent,
            grader=grader,
            output=output,
        )
    except SourceError as error:
        _refuse(error.problems, as_json)
    except UnreadableFileError as error:
        _refuse([f"{error}. {error.fix}"], as_json)
    if to_stdout:
        click.echo(done.files[0].text if done.files else "", nl=False)
    else:
        refuse_to_overwrite([file.path for file in done.files], force)
        for file in done.files:
            write_text(file.path, file.text)
    if as_json:
        print_json(_as_json(done))
    else:
        _tell(done, is_written=not to_stdout)
    if not done.files:
        raise click.exceptions.Exit(ExitCode.USAGE)
    if strict and any(note.kind == "lost" for note in done.notes):
        raise click.exceptions.Exit(ExitCode.FAILED)


def _refuse(problems: list[str], as_json: bool) -> Any:
    if as_json:
        print_json({"problems": problems})
    for problem in problems:
        say(f"error: {problem}")
    say("Nothing was written.")
    raise click.exceptions.Exit(ExitCode.USAGE)


def _as_json(done: Conversion) -> dict[str, Any]:
    return {
        "files": [{"path": str(f.path), "tests": len(f.config["tests"])} for f in done.files],
        "notes": [
            {"kind": n.kind, "source": n.source, "case": n.case, "field": n.field, "text": n.text}
            for n in done.notes
        ],
        "passedOver": [{"path": str(path), "reason": why} for path, why in done.passed_over],
    }


def _tell(done: Conversion, *, is_written: bool) -> None:
    """Write the report for people; on stderr when the config itself is on stdout."""
    from lobu_provider.cli.checks.promptfoo_tool import FOR_ANY_NODE
    from lobu_provider.convert.conversion import KINDS, told_once

    def line(text: str = "") -> None:
        click.echo(printable(text), err=not is_written)

    for file in done.files:
        count = len(file.config["tests"])
        if is_written:
            line(f"wrote {file.path} ({count} test{'' if count == 1 else 's'})")
    if not done.files:
        line("No case is left to convert; nothing was written.")
    for path, why in done.passed_over:
        line(f"passed over {path}: {why}")
    for kind, title in KINDS.items():
        told = told_once([note for note in done.notes if note.kind == kind])
        if told:
            line()
            line(f"{title}:")
        for text in told:
            line(f"  {text}")
    if is_written and done.files:
        line()
        line("Run it:")
        line('  export LOBU_PROVIDER_HOOK="$(lobu-provider path)"')
        line('  export LOBU_ASSERTIONS="$(lobu-provider path assertions)"')
        line('  export PROMPTFOO_PYTHON="$(command -v python3)"')
        line("  export LOBU_GATEWAY=... LOBU_TOKEN=...    # without a gateway: script:agent.json")
        for file in done.files:
            line(f"  npx promptfoo@{FOR_ANY_NODE} eval -c {shlex.quote(str(file.path))}")
