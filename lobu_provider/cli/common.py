"""What the commands share: options, exit codes, and how a failure is told.

Exit codes, the same for all commands:

====  =========================================================================================
code  meaning
====  =========================================================================================
0     done; ``doctor`` found nothing, or warnings only; ``serve`` was stopped; a run is good
1     what was asked for failed: the gateway took the message and the turn failed (agent, worker,
      model provider, a time limit in the turn); ``doctor`` found a fault on this side; a fault of
      our own; of results: the agent failed, a rate was not reached, something got worse
2     usage: the command line, the environment or a file that it names must change; nothing was
      sent to a gateway; or the output cannot be written, whatever was done before
3     the gateway gave no answer to work with: not reachable, not a Lobu gateway, token or agent
      refused, the connection lost, or a time limit ran out before the message was sent; for
      ``doctor``: and no fault on this side was found; of results: nothing is known for sure
130   interrupted by Ctrl-C, after the session was deleted (143: by SIGTERM, 129: by SIGHUP)
====  =========================================================================================

Every failure has exactly one code: :func:`exit_code` decides by its code and phase.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, TypeVar

import click

from lobu_provider.errors import Failure, LobuError
from lobu_provider.json_safe import safe_text

_F = TypeVar("_F", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """See the module's table."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    GATEWAY = 3
    INTERRUPTED = 130


EXIT_CODES: Final = """\b
Exit codes:
  0    done
  1    the turn failed or ran out of time, doctor found a fault, or in results the agent failed
  2    the command line, the environment or a file must change; nothing was sent; or the
       output cannot be written
  3    the gateway is not reachable, refused the token or the agent, or did not take the message
       within the time limit; of results: infrastructure failed, or the run is not whole
  130  interrupted by Ctrl-C
"""

_GATEWAY_CODES: Final = frozenset({"auth", "gateway", "not_found", "stream_lost"})
_GATEWAY_PHASES: Final = frozenset({"create", "connect", "send"})


def exit_code(code: str, phase: str) -> ExitCode:
    """Return the exit code for a failure's ``code`` and ``phase``."""
    if code == "cancelled":
        return ExitCode.INTERRUPTED
    if code == "internal":
        return ExitCode.FAILED
    if code == "timeout":  # wherever the time went: one rule for all
        return ExitCode.FAILED if phase == "turn" else ExitCode.GATEWAY
    if phase == "config":
        return ExitCode.USAGE
    if code in _GATEWAY_CODES or phase in _GATEWAY_PHASES:
        return ExitCode.GATEWAY
    return ExitCode.FAILED


class Command(click.Command):
    """A command whose failures are one message on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except LobuError as error:
            report(error.failure)
            ctx.exit(exit_code(error.failure.code, error.failure.phase))
        except KeyboardInterrupt:
            say("Interrupted.")
            ctx.exit(ExitCode.INTERRUPTED)


def say(text: str) -> None:
    """Tell a person: one message on stderr, without what could drive a terminal."""
    click.echo(printable(text), err=True)


def report(
    failure: Failure,
    secrets: Iterable[str | None] = (),
    given: Mapping[str, Any] | None = None,
) -> None:
    """Tell a person about a failure, without the ``secrets`` and what looks like one.

    Args:
        failure: what to tell.
        secrets: values that must not be printed.
        given: the config block that the command line's options stand for.
    """
    from lobu_provider.redaction import Redactor

    hint = _origin(failure.message, given or {}) if failure.phase == "config" else ""
    say(Redactor(secrets).text(f"error: {failure}{hint}"))


def _origin(message: str, given: Mapping[str, Any]) -> str:
    """Say where the value of the config key that ``message`` names comes from, or could come."""
    key = next((key for key in _FLAGS if re.search(rf"config\.{key}\b", message)), None)
    if key is None:
        return ""
    variable = _VARIABLES.get(key)
    if key in given:
        return f" (Here: the option {_FLAGS[key]}.)"
    if variable is None or not os.environ.get(variable, "").strip():
        return f" (Here: give the option {_FLAGS[key]}.)"
    return "" if variable in message else f" (Here: the environment variable {variable}.)"


def print_json(value: Any) -> None:
    """Print one JSON document on stdout, in ASCII where stdout is not UTF-8."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, ensure_ascii=not is_utf8, indent=2))


def printable(text: str) -> str:
    """Return ``text`` with control characters written out; line ends and tabs stay."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", safe_text(text))


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_FLAGS: Final = {
    "agent": "--agent",
    "gateway": "--gateway",
    "org": "--org",
    "thread": "--thread",
    "tokenEnv": "--token-env",
    "timeoutMs": "--timeout-ms",
}
"""Config key to the option that sets it."""

_VARIABLES: Final = {"agent": "LOBU_AGENT", "gateway": "LOBU_GATEWAY", "org": "LOBU_ORG"}
"""Config key to the variable that is read when the key is not given."""


def connection_options(command: _F) -> _F:
    """Add the options that say which agent at which gateway; each is a config key."""
    for option in reversed(
        (
            click.option("--agent", metavar="ID", help="The agent. Default: $LOBU_AGENT."),
            click.option(
                "--gateway",
                metavar="URL",
                help="The gateway's address, or script:demo / script:FILE.json for the embedded "
                "one. Default: $LOBU_GATEWAY, else http://localhost:8787.",
            ),
            click.option(
                "--org",
                metavar="SLUG",
                help="The organisation, for a token with several. Default: $LOBU_ORG.",
            ),
            click.option(
                "--token-env",
                metavar="NAME",
                help="The environment variable that holds the token. Default: LOBU_TOKEN. There "
                "is no option for the token itself: other users could see it.",
            ),
        )
    ):
        command = option(command)
    return command


def config_block(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config block that the given options stand for; an option not given is absent."""
    by_flag = {flag.removeprefix("--").replace("-", "_"): key for key, flag in _FLAGS.items()}
    return {by_flag[name]: value for name, value in options.items() if value is not None}
