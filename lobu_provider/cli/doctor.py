"""``lobu-provider doctor``: find out why an evaluation does not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from lobu_provider.cli.common import (
    Command,
    ExitCode,
    config_block,
    connection_options,
    print_json,
    printable,
)

_COLOURS: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(cls=Command, short_help="Find out why an evaluation does not run.")
@click.option(
    "-c",
    "--config",
    "config_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="promptfoo's config file. Default: promptfooconfig.yaml or .json in this folder, if any.",
)
@connection_options
@click.option("--json", "as_json", is_flag=True, help="Print a list of findings as JSON.")
def doctor(config_path: Path | None, as_json: bool, **options: Any) -> None:
    """Check everything that an evaluation needs, and say how to mend what is wrong.

    Looks at: the provider's config (each Lobu provider of the config file; without a file, the
    options and LOBU_* variables), the Python that promptfoo runs, the gateway, the token, the
    agent (a session is made and deleted, no message is sent), promptfoo, Node, workers, and
    mistakes in the config file that promptfoo does not report. Options given here take the place
    of the file's keys. Takes less than 30 seconds, also when a host is dead. Reading YAML needs
    PyYAML: pip install 'lobu-provider[yaml]'

    \b
    Examples:
      lobu-provider doctor
      lobu-provider doctor -c evals/promptfooconfig.yaml --json

    \b
    Exit codes:
      0  all is well, or there are only warnings
      1  a fault on this side: config, interpreter, promptfoo, config file; also a config
         file that could not be read
      2  wrong option
      3  the only faults are at the gateway: not reachable, or it refused token or agent

    With --json stdout holds a list of {check, status, detail, fix}; status is ok, warn or fail,
    and fix is null where there is nothing to do.
    """
    from lobu_provider.cli.checks.examination import examine

    findings = []
    for finding in examine(config_path, config_block(options)):
        findings.append(finding)
        if not as_json:
            _print(finding.check, finding.status, finding.detail, finding.fix)
    if as_json:
        rows = [
            {"check": f.check, "status": f.status, "detail": f.detail, "fix": f.fix}
            for f in findings
        ]
        print_json(rows)
    failed = [finding for finding in findings if finding.status == "fail"]
    if failed:
        only_gateway = all(finding.is_gateway for finding in failed)
        raise click.exceptions.Exit(ExitCode.GATEWAY if only_gateway else ExitCode.FAILED)


def _print(check: str, status: str, detail: str, fix: str | None) -> None:
    told = printable(detail).replace("\n", "\n      ")
    click.echo(f"{click.style(f'{status:<5}', fg=_COLOURS[status])} {check}: {told}")
    if fix is not None:
        label = "tip" if status == "ok" else "fix"
        click.echo(f"      {label}: {printable(fix)}")
