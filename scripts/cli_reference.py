"""Write docs/cli.md, the reference of the command line, from the commands themselves.

python scripts/cli_reference.py          rewrites docs/cli.md
python scripts/cli_reference.py --check  exits 1 if it would change
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from lobu_provider.cli.main import cli

TARGET = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

HEAD = """# Command line

Written from the code by `make docs`; `lobu-provider COMMAND --help` says the same.
"""


def reference() -> str:
    """Return the whole document."""
    context = click.Context(cli, info_name="lobu-provider")
    sections = [HEAD, *_block(cli.help), *_block(cli.epilog)]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None  # noqa: S101 - the group lists what it has
        sections += _section(name, command)
    return "\n".join(sections) + "\n"


def _section(name: str, command: click.Command) -> Iterator[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    options = [p for p in command.params if isinstance(p, click.Option)]
    usage = ["lobu-provider", name, *(["[OPTIONS]"] if options else []), *map(_place, arguments)]
    yield f"## {name}\n"
    yield f"{command.short_help or ''}\n"
    yield from _block(" ".join(usage))
    yield from _block(command.help)
    if options:
        yield "| option | meaning |"
        yield "| --- | --- |"
        yield from map(_row, options)
        yield ""


def _place(argument: click.Argument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required else f"[{name}]"


def _row(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag else f" {_value(option)}"
    notes = ["Required."] * option.required + ["May be given again."] * (
        option.multiple and "again" not in (option.help or "")
    )
    text = " ".join([option.help or "", *notes]).replace("|", "\\|")
    return f"| `{names}{value}` | {text} |"


def _value(option: click.Option) -> str:
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "\\|".join(map(str, option.type.choices))
    return option.type.name.upper()


def _block(text: str | None) -> Iterator[str]:
    """Yield a help text as a block; the marks that keep click from wrapping are left out."""
    if text:
        lines = [line for line in inspect.cleandoc(text).splitlines() if line.strip() != "\b"]
        yield "\n".join(["```text", *lines, "```", ""])


def main(arguments: list[str]) -> int:
    """Rewrite or check; returns the exit code."""
    wanted = reference()
    if arguments == ["--check"]:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != wanted)
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
