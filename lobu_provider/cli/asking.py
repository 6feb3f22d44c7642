"""Hold the conversation of ``ask``: streamed for a person, or as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from lobu_provider import event_loop
from lobu_provider.abort import Abort
from lobu_provider.cli.answer_printer import AnswerPrinter
from lobu_provider.cli.common import ExitCode, exit_code, print_json, report, say
from lobu_provider.cli.interrupts import interruptible
from lobu_provider.config.settings import load_settings
from lobu_provider.config.token import find_token
from lobu_provider.connect import open_client
from lobu_provider.conversation import Conversation
from lobu_provider.errors import Failure, LobuError
from lobu_provider.errors import failure as failure_of
from lobu_provider.promptfoo.call_plan import plan_call
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.provider import LobuProvider
from lobu_provider.promptfoo.response import turn_warnings
from lobu_provider.redaction import Redactor
from lobu_provider.session_life import open_conversation


def ask_for_json(options: Mapping[str, Any], turns: Sequence[str]) -> int:
    """Print the ProviderResponse of one call; return the exit code."""
    with interruptible() as (abort, signal_code):
        provider = LobuProvider(options)
        response = event_loop.run(provider.call_api("", _context(turns), abort=abort))
        print_json(response)
        error = response["metadata"].get("error")
        if error is None:
            return ExitCode.DONE
        return signal_code() or exit_code(error["code"], error["phase"])


def ask_streaming(options: Mapping[str, Any], turns: Sequence[str]) -> int:
    """Print each answer as it arrives; return the exit code."""
    secrets: list[str | None] = []
    failure: Failure | None
    with interruptible() as (abort, signal_code):
        try:
            failure = event_loop.run(_converse(options, turns, abort, secrets))
        except LobuError as error:
            failure = error.failure
        interrupted = signal_code()
    if failure is None:
        return ExitCode.DONE
    if interrupted:
        say("Interrupted.")
        return interrupted
    report(failure, secrets, options["config"])
    return exit_code(failure.code, failure.phase)


async def _converse(
    options: Mapping[str, Any], turns: Sequence[str], abort: Abort, secrets: list[str | None]
) -> Failure | None:
    settings = load_settings(options)
    plan = plan_call(settings, "", _context(turns))
    token = find_token(settings)
    secrets += [token, *settings.headers.values()]
    warnings = [*settings.warnings, *plan.warnings]
    record = CallRecord(message_count=len(plan.messages))
    client = open_client(settings, token)
    try:
        with anyio.CancelScope() as scope:
            with abort.cancelling(scope.cancel):
                async with (
                    client,
                    open_conversation(
                        client, plan.session, timeout_s=settings.timeout_s, warnings=warnings
                    ) as conversation,
                ):
                    record.turns = conversation.turns
                    secrets += [conversation.session.token, *client.session_tokens]
                    await _say_all(conversation, plan.messages, secrets)
    finally:
        secrets += client.session_tokens  # also of a conversation that never opened
        for warning in [*warnings, *turn_warnings(record.turns)]:
            say(Redactor(secrets).text(f"warning: {warning}"))
    if scope.cancelled_caught:
        return failure_of("cancelled", "The conversation was interrupted.", phase="turn")
    return record.first_failure  # what came after the end of a turn included


async def _say_all(
    conversation: Conversation, messages: Sequence[str], secrets: Sequence[str | None]
) -> None:
    """Say one message after another, up to the first turn that fails."""
    for message in messages:
        if len(messages) > 1:
            say(f"> {message}")
        with AnswerPrinter(secrets) as printer:
            turn = await conversation.say(message, printer.on_event)
            printer.finish(turn)
        if turn.failure is not None:
            return


def _context(turns: Sequence[str]) -> dict[str, Any]:
    return {"vars": {"transcript": [list(turns)]}}
