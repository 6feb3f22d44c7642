"""Print one turn as it happens: the answer to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

import click

from lobu_provider.cli.common import printable, say
from lobu_provider.events import Card, Ephemeral, Event, Output, ToolUse
from lobu_provider.json_safe import json_words, safe_text
from lobu_provider.redaction import MASK, MIN_SECRET_LENGTH, Redactor
from lobu_provider.secret_forms import forms
from lobu_provider.turn import Turn

_MAX_SHOWN: Final = 500
"""Characters of a tool's input or result, or of a card; ``--json`` has the whole."""

_CARD_WIRE_KEYS: Final = frozenset(
    {"type", "messageId", "timestamp", "originMessageId", "turnMessageId", "processedMessageIds"}
)


class AnswerPrinter:
    """Prints one turn; a context manager, so that an interrupted turn loses nothing.

    Args:
        secrets: of the call; none is printed, also when it arrives in pieces.
    """

    def __init__(self, secrets: Iterable[str | None]) -> None:
        known = [s for s in secrets if s is not None and len(s) >= MIN_SECRET_LENGTH]
        self._redactor = Redactor(known)
        written = {form for secret in known for form in forms(secret)}
        self._secrets = [form for form in written if len(form) >= MIN_SECRET_LENGTH]
        """In each way that they may be written."""
        self._streamed = ""
        self._held = ""
        self._line_is_open = False

    def on_event(self, event: Event) -> None:
        """Print what one event tells."""
        if isinstance(event, Output):
            self._streamed += event.content
            self._held = self._redactor.values(self._held + event.content)
            ready = len(self._held) - self._begun_length(self._held)
            self._print(self._held[:ready])
            self._held = self._held[ready:]
        elif isinstance(event, ToolUse):
            self._tell(_tool_line(event))
        elif isinstance(event, Card):
            card = {k: v for k, v in event.data.items() if k not in _CARD_WIRE_KEYS}
            self._tell(f"{event.name}: {_shown(card)}")
        elif isinstance(event, Ephemeral):
            self._tell(f"notice: {event.content.strip()}")

    def __enter__(self) -> AnswerPrinter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._print_held()
        self._end_line()

    def finish(self, turn: Turn) -> None:
        """Print what of the answer was not streamed."""
        whole = turn.output
        if whole.strip() == self._streamed.strip():
            rest = ""
        elif whole.startswith(self._streamed):
            # With what is held: a secret may begin in that and end in the rest.
            rest, self._held = self._held + whole[len(self._streamed) :], ""
        elif whole.strip():
            self._print_held()
            self._end_line()
            say("note: the gateway replaced the streamed text; the answer that counts is:")
            rest = whole
        else:
            self._print_held()
            self._end_line()
            say("note: the gateway withdrew the streamed text; the answer that counts is empty.")
            rest = ""
        self._print_held()
        self._print(self._redactor.values(rest))

    def _print_held(self) -> None:
        """Print what may have been the beginning of a secret, of which no more has come."""
        self._print(self._held if len(self._held) < MIN_SECRET_LENGTH else MASK)
        self._held = ""

    def _begun_length(self, text: str) -> int:
        """Length of the longest end of ``text`` that may be the beginning of a secret."""
        lengths = range(max(map(len, self._secrets), default=0) - 1, 0, -1)
        ends = (text[-length:] for length in lengths)
        return next((len(e) for e in ends if any(s.startswith(e) for s in self._secrets)), 0)

    def _print(self, text: str) -> None:
        if text:
            # A file gets the answer as it is; a terminal must not be driven by it.
            is_terminal = sys.stdout.isatty()
            click.echo(printable(text) if is_terminal else safe_text(text), nl=False)
            self._line_is_open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._line_is_open:
            click.echo()
            self._line_is_open = False

    def _tell(self, line: str) -> None:
        self._end_line()  # also into a pipe: both may end up in the same place
        say(self._redactor.text(line))


def _tool_line(event: ToolUse) -> str:
    verb = "tool failed" if event.data.get("isError") is True else "tool"
    line = f"{verb}: {event.tool_name or '(no name)'} {_shown(event.data.get('input'))}"
    result = event.data.get("result_summary")
    return line if result is None else f"{line} -> {_shown(result)}"


def _shown(value: Any) -> str:
    text = json_words(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
