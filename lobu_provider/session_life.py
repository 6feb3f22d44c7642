"""Open a conversation: the session, its event stream, and their orderly end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import uuid4

import anyio

from lobu_provider.conversation import LATE_S, Conversation, TalkRules
from lobu_provider.errors import LobuError, Phase, error_for, failure
from lobu_provider.event_stream import EventStream
from lobu_provider.gateway_client import GatewayClient, Session


def fresh_thread() -> str:
    """Return a name for a thread that nobody has used."""
    return f"promptfoo-{uuid4()}"


def may_be_fresh_thread(name: str) -> bool:
    """Return whether :func:`fresh_thread` may have made a name."""
    return _FRESH.fullmatch(name) is not None


_FRESH: Final = re.compile(r"promptfoo-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class SessionPlan:
    """Which thread to talk in and what becomes of its session.

    ``keep`` leaves the session at the gateway when the conversation ends.
    """

    agent_id: str
    thread: str = ""
    """Blank for a fresh one, ``promptfoo-<uuid>``."""
    resume: bool = False
    """Go on in an existing thread instead of beginning it anew."""
    keep: bool = False
    dry_run: bool | None = None
    provider: str | None = None
    model: str | None = None


class Notes(Protocol):
    """Where the life of a session is noted."""

    def creating(self) -> None:
        """The create call is about to be sent."""

    def created(self, session_id: str) -> None:
        """The session is there."""

    def gone(self) -> None:
        """The session was deleted, or never made."""


class _NoNotes:
    def creating(self) -> None: ...

    def created(self, session_id: str) -> None: ...

    def gone(self) -> None: ...


_REFUSALS: Final = frozenset({"auth", "not_found", "config", "rate_limit"})
"""Codes after which the gateway has certainly made no session."""

_LATE_CREATE_S: Final = 3.0
"""How long an interrupted call waits for its session, so as to delete it."""

_LATE_AT_END_S: Final = 0.5
"""The same where the call has no time left."""

_MAYBE_LEFT: Final = (
    "The call ended while the session was being created; the gateway may have kept it. It ends by "
    "itself after 24 hours."
)


@asynccontextmanager
async def open_conversation(
    client: GatewayClient,
    plan: SessionPlan,
    *,
    timeout_s: float = 120.0,
    warnings: list[str] | None = None,
    rules: TalkRules | None = None,
    notes: Notes | None = None,
) -> AsyncIterator[Conversation]:
    """Create the session, open its event stream, and at the end delete the session.

    Example::

        plan = SessionPlan("support-agent")
        async with open_conversation(client, plan, timeout_s=60) as conversation:
            turn = await conversation.say("Hello")

    Args:
        client: an open client.
        plan: which thread, and whether its session stays.
        timeout_s: one limit over session, stream and all turns, in seconds; 120 by default. The
            deletion comes after it and has its own bound, ``client.limits.delete_s``.
        warnings: gets a sentence when the session could not be deleted.
        rules: how the turns are held and judged.
        notes: told when the session begins and ends, so that one that is left can be found.

    Raises:
        LobuError: the session could not be created, or its stream not opened.
    """
    deadline = anyio.current_time() + timeout_s
    thread = plan.thread or fresh_thread()
    told = [] if warnings is None else warnings
    notes = notes or _NoNotes()
    with _time_limit(deadline, "create", "creating the session"):
        session = await _create(client, plan, thread, told, deadline, notes)
    async with EventStream(client, session, has_past=plan.resume) as stream:
        conversation = Conversation(
            client, session, stream, deadline=deadline, resumed=plan.resume, rules=rules
        )
        try:
            with _time_limit(deadline, "connect", "opening the event stream"):
                await stream.wait_until_open()
            yield conversation
        finally:
            ended_s = anyio.current_time()
            with anyio.CancelScope(shield=True):  # an interrupted run cleans up too
                if not plan.keep:
                    stream.expect_end()
                    await _delete(client, session, told, notes)
                left_s = client.limits.delete_s - (anyio.current_time() - ended_s)
                with anyio.move_on_after(max(LATE_S, left_s)):
                    await conversation.listen_to_end()


async def _create(
    client: GatewayClient,
    plan: SessionPlan,
    thread: str,
    warnings: list[str],
    deadline: float,
    notes: Notes,
) -> Session:
    """Create the session; when interrupted, wait a little for the reply and delete it again."""
    notes.creating()
    creating = asyncio.ensure_future(
        client.create_session(
            plan.agent_id,
            thread=thread,
            force_new=not plan.resume,
            dry_run=plan.dry_run,
            provider=plan.provider,
            model=plan.model,
        )
    )
    try:
        session = await asyncio.shield(creating)
        notes.created(session.id)
        return session
    except LobuError as exc:
        _tell_what_is_left(exc, warnings, notes)
        raise
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            left_s = max(deadline - anyio.current_time(), _LATE_AT_END_S)
            await asyncio.wait([creating], timeout=min(_LATE_CREATE_S, left_s))
            if not creating.done():
                creating.cancel()
                await asyncio.wait([creating], timeout=1)
                warnings.append(_MAYBE_LEFT)
            elif not creating.cancelled():
                refused = creating.exception()
                if isinstance(refused, LobuError):
                    _tell_what_is_left(refused, warnings, notes)
                elif refused is None and not plan.keep:
                    await _delete(client, creating.result(), warnings, notes)
        raise


def leaves_none(refused: LobuError) -> bool:
    """Return whether the gateway has certainly no session after a create call that failed."""
    told = refused.failure
    return not told.is_unclear and (told.is_unsent or told.is_undone or told.code in _REFUSALS)


def _tell_what_is_left(refused: LobuError, warnings: list[str], notes: Notes) -> None:
    if refused.failure.is_unclear:
        warnings.append(_MAYBE_LEFT)
    elif leaves_none(refused):
        notes.gone()


async def _delete(
    client: GatewayClient, session: Session, warnings: list[str], notes: Notes
) -> None:
    try:
        await client.delete_session(session)  # bounded by the client
    except LobuError as exc:
        warnings.append(f"The session was left at the gateway: {exc.failure.message}")
    else:
        notes.gone()


@contextmanager
def _time_limit(deadline: float, phase: Phase, doing: str) -> Iterator[None]:
    with anyio.CancelScope(deadline=deadline) as scope:
        yield
    if scope.cancelled_caught:
        raise error_for(
            failure(
                "timeout",
                f"The time limit of the call ran out while {doing}. The gateway is slow or stuck; "
                "raise timeoutMs if it only needs longer.",
                phase=phase,
            )
        )
