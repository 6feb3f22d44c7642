"""The turns that a cassette tells: replayed through the client, so that they are what rows show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from lobu_provider.cassettes.player import Player, kind_of
from lobu_provider.cassettes.reading import Cassette, Recorded
from lobu_provider.cassettes.replaying import ReplayingHttp
from lobu_provider.cassettes.skipping_loop import run_skipping
from lobu_provider.conversation import Conversation, TalkRules
from lobu_provider.errors import Failure, LobuError
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.session_life import SessionPlan, open_conversation
from lobu_provider.turn import Turn

_BEYOND_S: Final = 60.0
"""How long after the end of a recording a turn that has none is left."""


@dataclass(frozen=True)
class Told:
    """What a cassette tells of its conversation; of several attempts, that of the last one."""

    turns: Sequence[Turn]
    failure: Failure | None = None
    """Why there was no conversation."""
    earlier: Sequence[Told] = ()
    """The attempts before the last one, by 'retries'."""


def told_by(cassette: Cassette) -> Told:
    """Replay a cassette without a config: no limits, no stops, whatever was said is said."""
    told = [run_skipping(partial(_hold, one), start_s=0.0) for one in attempts_of(cassette)]
    return replace(told[-1], earlier=told[:-1]) if told else Told(())


async def _hold(cassette: Cassette) -> Told:
    created = _body(cassette.requests[0])
    plan = SessionPlan(
        agent_id=str(created.get("agentId", "")),
        resume=created.get("forceNew") is False,
        dry_run=created.get("dryRun"),
        provider=created.get("provider"),
        model=created.get("model"),
    )
    messages = _messages(cassette)
    rules = TalkRules(
        ephemeral_context=next((b.get("ephemeralContext") for b in messages.values()), None)
    )
    player = Player(cassette, "this cassette", "Record it again.")
    client = GatewayClient("http://cassette.invalid/lobu", None, http=ReplayingHttp(player))
    turns: list[Turn] = []
    try:
        async with (
            client,
            open_conversation(
                client, plan, timeout_s=cassette.end_ms / 1000 + _BEYOND_S, rules=rules
            ) as talk,
        ):
            turns = talk.turns
            await _say(talk, [str(body.get("content", "")) for body in messages.values()])
    except LobuError as exc:
        return Told(turns, exc.failure)
    return Told(turns)


async def _say(talk: Conversation, messages: Sequence[str]) -> None:
    for message in messages:
        turn = await talk.say(message)
        if turn.failure is not None:
            return


def attempts_of(cassette: Cassette) -> list[Cassette]:
    """Cut a cassette at each session that was created, or was to be at last.

    A creation that failed and was made again within an attempt is left out.
    """
    creates = [r for r in cassette.requests if kind_of(r.method, r.path) == "create"]
    begins = [
        r.index for r in creates if 200 <= int(r.reply.get("reply", 0)) < 300 or r is creates[-1]
    ]
    ends = [*begins[1:], len(cassette.requests)]
    return [_part(cassette, begin, end) for begin, end in zip(begins, ends, strict=False)]


def _part(cassette: Cassette, begin: int, end: int) -> Cassette:
    """Return a cassette of some requests; what a stream brought after the last one is left out."""
    requests = [
        replace(
            one,
            index=one.index - begin,
            stream=[replace(h, after=h.after - begin) for h in one.stream if h.after < end],
        )
        for one in cassette.requests[begin:end]
    ]
    return replace(cassette, requests=requests)


def _messages(cassette: Cassette) -> dict[str, Mapping[str, Any]]:
    """Return the body of each message by its id: one that was sent twice is one."""
    bodies: dict[str, Mapping[str, Any]] = {}
    for request in cassette.requests:
        if kind_of(request.method, request.path) == "message":
            body = _body(request)
            bodies.setdefault(str(body.get("messageId", len(bodies))), body)
    return bodies


def _body(request: Recorded) -> Mapping[str, Any]:
    body = request.line.get("body")
    return body if isinstance(body, Mapping) else {}
