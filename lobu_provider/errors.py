"""What can go wrong, in words that a results table can show.

A :class:`Failure` is the value; a :class:`LobuError` is the same thing raised::

    LobuError
    |-- ConfigError           the configuration, the token or the agent's name must change
    |-- InfrastructureError   gateway, network, worker or model provider: says nothing of the agent
    `-- AgentError            the agent itself did not give an answer

The codes are fixed: people filter results by ``metadata.error.code``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

ErrorClass = Literal["config", "infrastructure", "agent"]

Phase = Literal["config", "create", "connect", "send", "turn", "delete"]
"""Where the call was: reading its configuration, creating the session, opening the event stream,
sending a message, waiting for a turn's events, deleting the session."""


class CodeFacts(NamedTuple):
    """What a code means when nothing more is known about the failure."""

    error_class: ErrorClass
    retryable: bool
    meaning: str


CODES: Final[dict[str, CodeFacts]] = {
    "config": CodeFacts("config", False, "the configuration or the test's variables are wrong"),
    "auth": CodeFacts("config", False, "the gateway did not accept the token"),
    "not_found": CodeFacts("config", False, "no such agent, session or route, or not yours"),
    "rate_limit": CodeFacts("infrastructure", True, "the gateway or the model provider is busy"),
    "gateway": CodeFacts("infrastructure", True, "the gateway is down, or its reply is not usable"),
    "provider": CodeFacts("infrastructure", False, "the model provider refused or failed"),
    "worker": CodeFacts("infrastructure", True, "the agent's worker process died or stalled"),
    "guardrail": CodeFacts("agent", False, "a guardrail stopped the message or the answer"),
    "action_required": CodeFacts("agent", False, "the agent waits for a person, e.g. to sign in"),
    "timeout": CodeFacts("infrastructure", True, "a time limit of ours or the gateway's ran out"),
    "stream_lost": CodeFacts("infrastructure", True, "the event stream ended before the turn did"),
    "empty": CodeFacts("agent", False, "the turn ended without any answer"),
    "cassette": CodeFacts("config", False, "no cassette to replay, or one that does not fit"),
    "limit": CodeFacts("agent", False, "a limit of the config was passed, e.g. maxToolCalls"),
    "cancelled": CodeFacts("infrastructure", True, "the run was interrupted"),
    "internal": CodeFacts("infrastructure", False, "a fault in lobu-provider itself"),
}
"""Every code. The first twelve are the gateway client's vocabulary; the others are ours."""


@dataclass(frozen=True)
class Failure:
    """One failure as a value.

    ``message`` says what happened, why, and what to do; it never holds a secret.
    """

    code: str
    message: str
    phase: Phase
    error_class: ErrorClass
    retryable: bool
    """Whether running the same case again may succeed."""
    turn: int | None = None
    """The turn it happened in, counted from 1; ``None`` before the first turn."""
    repeatable: bool = False
    """Whether the very same request may be sent again at once."""
    retry_after_s: float | None = None
    """How long the gateway asked to wait before that."""
    is_unclear: bool = False
    """The request was sent and no reply came: it may have been done all the same."""
    is_unsent: bool = False
    """There was no connection to send it on: nothing was done."""
    is_undone: bool = False
    """What it did all the same, as its reply told, was undone again."""
    tries: int = 1
    """How often it was sent."""

    def in_turn(self, turn: int) -> Failure:
        """Return the same failure, placed in ``turn``."""
        return replace(self, turn=turn)

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


def failure(
    code: str,
    message: str,
    *,
    phase: Phase,
    error_class: ErrorClass | None = None,
    retryable: bool | None = None,
    turn: int | None = None,
    repeatable: bool = False,
    retry_after_s: float | None = None,
    is_unclear: bool = False,
    is_unsent: bool = False,
) -> Failure:
    """Build a :class:`Failure`, taking class and retryability from :data:`CODES` unless given."""
    facts = CODES[code]
    return Failure(
        code=code,
        message=message,
        phase=phase,
        error_class=facts.error_class if error_class is None else error_class,
        retryable=facts.retryable if retryable is None else retryable,
        turn=turn,
        repeatable=repeatable,
        retry_after_s=retry_after_s,
        is_unclear=is_unclear,
        is_unsent=is_unsent,
    )


class LobuError(Exception):
    """Base of everything this package raises on purpose.

    ``error.failure`` carries code, class, phase and retryability::

        try:
            session = await client.create_session("support-agent", thread="t-1")
        except LobuError as error:
            print(error.failure.code, error)
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class ConfigError(LobuError):
    """Something the user wrote must change: a config key, a token, an agent's name."""


class InfrastructureError(LobuError):
    """Gateway, network, worker or model provider failed; the agent's behaviour is unknown."""


class AgentError(LobuError):
    """The agent ran and did not give a usable answer."""


_BY_CLASS: Final[dict[ErrorClass, type[LobuError]]] = {
    "config": ConfigError,
    "infrastructure": InfrastructureError,
    "agent": AgentError,
}


def error_for(failure: Failure) -> LobuError:
    """Return the exception that carries ``failure``."""
    return _BY_CLASS[failure.error_class](failure)


def config_error(message: str) -> ConfigError:
    """Return the error for a fault found before any request was sent."""
    return ConfigError(failure("config", message, phase="config"))
