"""The turns that a cassette tells: replayed through the client, so that they are what rows show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
    """What a cassette tells of its conversation; of several attempts the last one."""

    turns: Sequence[Turn]
    failure: Failure | None = None
    """Why there was no conversation."""


def told_by(cassette: Cassette) -> Told:
    """Replay a cassette without a config: no limits, no stops, whatever was said is said."""
    attempt = _last_attempt(cassette)
    if attempt is None:
        return Told(())
    return run_skipping(lambda: _hold(attempt), start_s=0.0)


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


def _last_attempt(cassette: Cassette) -> Cassette | None:
    """Return what begins with the last session that was created, or was to be."""
    creates = [r for r in cassette.requests if kind_of(r.method, r.path) == "create"]
    made = [r for r in creates if 200 <= int(r.reply.get("reply", 0)) < 300]
    if not creates:
        return None
    begin = (made or creates)[-1]
    requests = [
        replace(
            one,
            index=one.index - begin.index,
            stream=[replace(h, after=h.after - begin.index) for h in one.stream],
        )
        for one in cassette.requests[begin.index :]
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
