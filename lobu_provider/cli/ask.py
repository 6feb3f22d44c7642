"""``lobu-provider ask``: a conversation with an agent from the shell."""

from __future__ import annotations

import sys
from typing import Any

import click

from lobu_provider.cli.common import Command, config_block, connection_options


@click.command(cls=Command, short_help="Talk to an agent.")
@click.argument("questions", metavar="QUESTION...", nargs=-1, required=True)
@connection_options
@click.option(
    "--thread",
    metavar="NAME",
    help="Talk in this thread and leave its session at the gateway. Default: a fresh thread, "
    "whose session is deleted at the end.",
)
@click.option(
    "--timeout-ms",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MS",
    help="Time limit over session and all turns in milliseconds. Default: 120000.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document at the end, what promptfoo would get, and nothing else.",
)
def ask(questions: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Ask an agent a question; each further QUESTION is the next turn of the conversation.

    The answer goes to stdout as it arrives, with a line end before each tool call, card or
    notice; those and warnings go to stderr. A QUESTION of - is read from stdin. Options have the
    meaning of the provider's config keys.

    \b
    Examples:
      lobu-provider ask "What is your refund policy?"
      lobu-provider ask "I want to return order 17." "Yes, please refund it."
      lobu-provider ask --json - < question.txt

    \b
    Exit codes:
      0    answered
      1    the turn failed: agent, its worker or model provider, or the time limit ran out
           after the message was sent
      2    wrong option, environment variable or token format; nothing was sent
      3    the gateway is not reachable, refused token or agent, or was lost, or the time limit
           ran out before the message was sent
      130  interrupted by Ctrl-C; the session was deleted (143: by SIGTERM)
    """
    from lobu_provider.cli.asking import ask_for_json, ask_streaming

    turns = _read_stdin(questions)
    run = ask_for_json if as_json else ask_streaming
    code = run({"config": config_block(options)}, turns)
    raise click.exceptions.Exit(code)


def _read_stdin(questions: tuple[str, ...]) -> list[str]:
    if questions.count("-") > 1:
        raise click.UsageError("Only one QUESTION can be '-': stdin has one end.")
    turns = [_stdin().strip() if text == "-" else text for text in questions]
    if not all(text.strip() for text in turns):
        raise click.UsageError("A QUESTION is blank; there is nothing to send.")
    return turns


def _stdin() -> str:
    if sys.stdin is None:  # closed by whoever started this
        raise click.UsageError("A QUESTION is '-', and stdin is closed.")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise click.UsageError(f"A QUESTION is '-', and stdin is not UTF-8: {exc}.") from None
