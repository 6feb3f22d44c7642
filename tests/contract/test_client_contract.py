"""What a script that uses the client may rely on: the same in process and over a socket."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import anyio
import httpx
import pytest

from lobu_provider import (
    AgentError,
    ConfigError,
    GatewayClient,
    InfrastructureError,
    LobuProvider,
    SessionPlan,
    open_conversation,
)
from lobu_provider.http_over_aiohttp import AiohttpPool
from lobu_provider.scripted_gateway import ScriptedGateway, ScriptedTransport, parse_script
from lobu_provider.scripted_gateway.requests import API, Request
from lobu_provider.scripted_gateway.server import running

pytestmark = pytest.mark.anyio

LIMIT_S: Final = 20.0
TOKEN: Final = "owl_pat_contract_user"
AGENT: Final = SessionPlan("support-agent")


@dataclass(frozen=True)
class Gateway:
    """A scripted gateway and the way to it."""

    scripted: ScriptedGateway
    url: str
    transport: Callable[[], httpx.AsyncBaseTransport | None]
    pool: AiohttpPool | None = None

    @property
    def requests(self) -> list[Request]:
        return self.scripted.requests

    @property
    def calls(self) -> list[str]:
        """The requests in order, as ``METHOD tail``: the part of the path after the session."""
        return [
            f"{request.method} {'/'.join((request.route or ['?'])[1:])}".strip()
            for request in self.requests
        ]

    @property
    def messages(self) -> list[Any]:
        return [
            request.body for request in self.requests if (request.route or [])[1:] == ["messages"]
        ]

    def client(self, **options: Any) -> GatewayClient:
        return GatewayClient(
            f"{self.url}/lobu", TOKEN, transport=self.transport(), pool=self.pool, **options
        )

    def provider(self, **config: Any) -> LobuProvider:
        options = {
            "config": {"agent": "support-agent", "gateway": self.url, **config},
            "env": {"LOBU_TOKEN": TOKEN},
        }
        return LobuProvider(options, transport=self.transport(), pool=self.pool)


Start = Callable[[Mapping[str, Any]], Gateway]


@pytest.fixture(params=["in process", "socket", "socket with a pool"])
async def start(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Start]:
    """Start a gateway with a script, behind one of the transports."""
    async with AsyncExitStack() as stack:
        pool = None
        if request.param == "socket with a pool":
            pool = await stack.enter_async_context(AiohttpPool())

        def made(script: Mapping[str, Any]) -> Gateway:
            scripted = ScriptedGateway(parse_script({"version": 1, **script}))
            if request.param == "in process":
                return Gateway(
                    scripted, "http://scripted.invalid", lambda: ScriptedTransport(scripted)
                )
            url = stack.enter_context(running(scripted))
            return Gateway(scripted, url, lambda: None, pool)

        yield made


@pytest.fixture(autouse=True)
async def bounded() -> Any:
    with anyio.fail_after(LIMIT_S):
        yield


def replies(*steps: Any, **entry: Any) -> dict[str, Any]:
    return {"replies": [{"steps": list(steps), **entry}]}


def tool(name: str, call_id: str, **more: Any) -> dict[str, Any]:
    return {"tool": {"name": name, "toolCallId": call_id, **more}}


ECHO: Final = replies({"text": "Echo: {{message}}"})


# --- a conversation ----------------------------------------------------------------------------


async def test_a_turn_is_what_the_agent_said_and_did(start: Start) -> None:
    summary = {"event_ids": [2], "snippets": [{"id": 2, "text": "Bern."}], "extra": 1}
    call = tool("search_memory", "call_1", input={"query": "x"}, result_summary=summary)
    gateway = start(replies(call, {"text": "It is in Bern."}))
    async with (
        gateway.client() as client,
        open_conversation(client, AGENT) as conversation,
    ):
        turn = (await conversation.say("Where is it?")).raise_for_failure()
    assert (turn.user_text, turn.output, turn.streamed_text) == (
        "Where is it?",
        "It is in Bern.",
        "It is in Bern.",
    )
    assert (turn.completed, turn.failure, turn.awaiting_human_decision) == (True, None, False)
    [done] = turn.tool_calls
    assert (done.name, done.tool_call_id, done.data["input"]) == (
        "search_memory",
        "call_1",
        {"query": "x"},
    )
    assert done.data["result_summary"] == summary


async def test_one_stream_is_open_before_the_first_message_and_serves_all_turns(
    start: Start,
) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turns = [await conversation.say(text) for text in ("one", "two", "three")]
        assert gateway.scripted.open_streams == 1
    assert [turn.output for turn in turns] == ["Echo: one", "Echo: two", "Echo: three"]
    assert conversation.turns == turns
    assert gateway.calls == ["POST", "GET events", *["POST messages"] * 3, "DELETE"]


async def test_each_message_has_an_id_of_its_own(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turns = [await conversation.say("same words") for _ in range(3)]
    sent = [body["messageId"] for body in gateway.messages]
    assert [str(uuid.UUID(message_id)) for message_id in sent] == sent
    assert len(set(sent)) == 3
    assert [turn.message_id for turn in turns] == sent


async def test_the_id_that_the_gateway_answers_with_counts(start: Start) -> None:
    gateway = start(replies({"text": "ok"}, message_id="its-own-id"))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert (turn.output, turn.message_id, turn.failure) == ("ok", "its-own-id", None)


async def test_a_turn_that_runs_under_another_message_is_ours_when_it_says_so(
    start: Start,
) -> None:
    """Merged messages: all events have the first one's id, the end lists every one."""
    steps = [tool("lookup", "call_1"), {"text": "both answered"}]
    gateway = start(replies(*steps, complete_as="the-first-message"))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("and this?")
    assert (turn.output, turn.failure) == ("both answered", None)
    assert [call.tool_call_id for call in turn.tool_calls] == ["call_1"]


async def test_events_of_other_messages_are_nobodys(start: Start) -> None:
    foreign = [
        {"event": "output", "data": {"type": "delta", "content": "not ours", "messageId": "x"}},
        {"event": "tool_use", "data": {"name": "bash", "toolCallId": "c9", "messageId": "x"}},
        {"event": "error", "data": {"error": "not ours either", "messageId": "x"}},
        {"event": "complete", "data": {"type": "complete", "messageId": "x", "finalText": "no"}},
    ]
    end = {"complete": {"finalText": "ours"}}
    gateway = start(replies(*foreign, {"text": "ours", "deltas": 1}, end))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert (turn.output, turn.streamed_text, turn.tool_calls) == ("ours", "ours", ())
    assert turn.failure is None


async def test_what_comes_late_is_not_taken_for_the_next_turn(start: Start) -> None:
    """A second end, and a late text, of a turn that has ended."""
    late: list[Any] = [
        {"complete": {"finalText": "first"}},
        {"text": " and more"},
        {"complete": {"finalText": "again"}},
    ]
    script = {"replies": [{"turn": 1, "steps": late}, {"turn": 2, "steps": [{"text": "second"}]}]}
    gateway = start(script)
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        first = await conversation.say("one")
        second = await conversation.say("two")
    assert (first.output, second.output) == ("first", "second")
    assert second.streamed_text == "second"


async def test_a_tool_call_that_is_told_twice_is_one(start: Start) -> None:
    twice = tool("lookup", "call_1", input={"id": 1})
    other = tool("lookup", "call_1", input={"id": 2})
    gateway = start(replies(twice, twice, other, {"text": "done"}))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert [call.data["input"] for call in turn.tool_calls] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("flavour", ["u11", "f11", "n"])
async def test_every_flavour_tells_the_same_turn(start: Start, flavour: str) -> None:
    call = tool("lookup", "call_1")
    gateway = start({"flavour": flavour, **replies(call, {"text": "The answer is 42."})})
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert (turn.output, turn.failure, len(turn.tool_calls)) == ("The answer is 42.", None, 1)
    assert (turn.trace_id is not None) is (flavour == "n")


@pytest.mark.parametrize("framing", ["lf", "crlf", "cr"])
async def test_every_framing_tells_the_same_turn(start: Start, framing: str) -> None:
    gateway = start({"framing": framing, "chunk_bytes": 3, **replies({"text": "Grüße 🔄 \u2028"})})
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert (turn.output, turn.failure) == ("Grüße 🔄 \u2028", None)


@pytest.mark.parametrize("flavour", ["f11", "n"])
async def test_cards_are_kept_and_the_conversation_goes_on(start: Start, flavour: str) -> None:
    question = {"type": "question", "question": "Which?", "options": ["a", "b"]}
    approval = {"type": "tool-approval", "toolName": "save_memory", "mcpId": "m"}
    script = {
        "flavour": flavour,
        "replies": [
            {"turn": 1, "steps": [{"card": question}, {"complete": {"finalText": ""}}]},
            {"turn": 2, "steps": [{"card": approval}, {"text": "I asked for approval."}]},
        ],
    }
    gateway = start(script)
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        asked = await conversation.say("one")
        approved = await conversation.say("two")
    assert (asked.failure, approved.failure) == (None, None)
    [card] = asked.interactions
    assert (card.name, card.data["options"]) == ("question", ["a", "b"])
    [card] = approved.interactions
    assert (card.name, card.data["toolName"]) == ("tool-approval", "save_memory")
    assert not any("approve" in str(request.path) for request in gateway.requests)


# --- failures ----------------------------------------------------------------------------------


async def test_an_error_is_one_error_and_the_next_turn_and_conversation_are_unaffected(
    start: Start,
) -> None:
    script = {
        "replies": [
            {"match": "break", "steps": [tool("lookup", "c1"), {"error": "400 Bad request"}]},
            {"steps": [{"text": "Echo: {{message}}"}]},
        ]
    }
    gateway = start(script)
    async with gateway.client() as client:
        async with open_conversation(client, AGENT) as conversation:
            broken = await conversation.say("break")
            after = await conversation.say("go on")
        async with open_conversation(client, AGENT) as conversation:
            fresh = await conversation.say("afresh")
    assert broken.failure is not None
    assert (broken.failure.code, broken.failure.turn) == ("provider", 1)
    assert [call.tool_call_id for call in broken.tool_calls] == ["c1"]
    with pytest.raises(InfrastructureError, match="400 Bad request"):
        broken.raise_for_failure()
    assert (after.output, after.failure) == ("Echo: go on", None)
    assert (fresh.output, fresh.failure) == ("Echo: afresh", None)


async def test_a_guardrail_is_an_error_of_the_agent(start: Start) -> None:
    gateway = start(replies({"error": "Message rejected: off topic"}))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    with pytest.raises(AgentError, match="off topic"):
        turn.raise_for_failure()


@pytest.mark.parametrize("step", [{"eof": True}, {"reset": True}])
async def test_a_stream_that_ends_first_is_opened_again_and_nothing_is_told_twice(
    start: Start, step: dict[str, Any]
) -> None:
    begin = [tool("lookup", "c1"), {"text": "half", "deltas": 1}, {"delay_ms": 50}, step]
    gateway = start(replies(*begin, {"text": " and whole"}))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("hello")
    assert turn.failure is None
    assert (turn.output, turn.streamed_text) == ("half and whole", "half and whole")
    assert (len(turn.tool_calls), turn.completed, turn.reconnects) == (1, True, 1)
    assert gateway.calls.count("GET events") == 2


async def test_a_time_limit_ends_a_turn_and_the_session_is_deleted(start: Start) -> None:
    gateway = start(replies({"text": "half", "deltas": 1}, {"complete": False}))
    async with (
        gateway.client() as client,
        open_conversation(client, AGENT, timeout_s=0.5) as conversation,
    ):
        turn = await conversation.say("hello")
    assert turn.failure is not None
    assert (turn.failure.code, turn.failure.phase) == ("timeout", "turn")
    assert turn.output == "half"
    assert gateway.calls[-1] == "DELETE"


async def test_a_session_that_is_gone_takes_no_message(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client:
        session = await client.create_session("support-agent", thread="t-1")
        await client.delete_session(session)
        with pytest.raises(InfrastructureError, match=r"\[not_found\]"):
            await client.send_message(session, "hello", message_id="m-1")
        with pytest.raises(InfrastructureError, match=r"\[not_found\]"):
            async with client.stream_events(session):
                raise AssertionError("no stream opens")
        await client.delete_session(session)  # gone already: nothing to complain about


async def test_an_unknown_agent_is_not_found(start: Start) -> None:
    gateway = start({"agents": ["support-agent"], **ECHO})
    async with gateway.client() as client:
        with pytest.raises(ConfigError, match="no-such-agent"):
            await client.create_session("no-such-agent", thread="t-1")


async def test_an_error_never_shows_the_token_that_was_sent(start: Start) -> None:
    padding = "x" * 270  # the message's own limit would cut the token in two
    fault = {"status": 500, "body": f"<p>{padding} Authorization: {TOKEN}</p>"}
    gateway = start({"create": fault, **ECHO})
    async with gateway.client() as client:
        with pytest.raises(InfrastructureError) as raised:
            await client.create_session("support-agent", thread="t-1")
    assert TOKEN[:10] not in str(raised.value)


async def test_a_token_with_a_line_end_is_refused_and_not_shown() -> None:
    """Over a socket only: in process there are no header lines."""
    scripted = ScriptedGateway(parse_script({"version": 1, **ECHO}))
    with running(scripted) as url:
        async with GatewayClient(f"{url}/lobu", f"{TOKEN}\n") as client:
            with pytest.raises(ConfigError, match="line end") as raised:
                await client.create_session("support-agent", thread="t-1")
    assert TOKEN not in str(raised.value)
    assert scripted.requests == []


# --- sessions ----------------------------------------------------------------------------------


async def test_a_session_is_deleted_also_when_the_script_fails(start: Start) -> None:
    gateway = start(ECHO)

    async def script() -> None:
        async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
            await conversation.say("hello")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await script()
    assert gateway.calls[-1] == "DELETE"
    assert gateway.scripted.sessions == {}


async def test_a_session_is_deleted_also_when_the_script_is_cancelled(start: Start) -> None:
    gateway = start(replies({"complete": False}))
    async with gateway.client() as client, anyio.create_task_group() as group:
        running_turn = anyio.Event()

        async def talk() -> None:
            async with open_conversation(client, AGENT) as conversation:
                running_turn.set()
                await conversation.say("hello")

        group.start_soon(talk)
        await running_turn.wait()
        group.cancel_scope.cancel()
    assert gateway.calls[-1] == "DELETE"
    assert gateway.scripted.sessions == {}
    assert gateway.scripted.open_streams == 0


async def test_a_kept_session_goes_on_with_resume_and_its_past_is_not_told_again(
    start: Start,
) -> None:
    gateway = start(replies(tool("lookup", "call_{{turn}}"), {"text": "Echo: {{message}}"}))
    kept = SessionPlan("support-agent", thread="t-1", keep=True)
    again = SessionPlan("support-agent", thread="t-1", resume=True)
    async with gateway.client() as client:
        async with open_conversation(client, kept) as conversation:
            await conversation.say("one")
        assert len(gateway.scripted.sessions) == 1
        async with open_conversation(client, again) as conversation:
            turn = await conversation.say("two")
    assert (turn.output, len(turn.tool_calls), turn.failure) == ("Echo: two", 1, None)
    creates = [request.body for request in gateway.requests if request.route == []]
    assert [body["forceNew"] for body in creates] == [True, False]
    assert [body["thread"] for body in creates] == ["t-1", "t-1"]
    assert gateway.calls.count("DELETE") == 1
    assert gateway.scripted.sessions == {}


async def test_without_a_thread_every_conversation_has_a_fresh_one(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client:
        for _ in range(2):
            async with open_conversation(client, AGENT) as conversation:
                await conversation.say("hello")
    threads = [request.body["thread"] for request in gateway.requests if request.route == []]
    assert len(set(threads)) == 2
    for thread in threads:
        prefix, _, unique = thread.partition("-")
        assert (prefix, str(uuid.UUID(unique))) == ("promptfoo", unique)


async def test_a_failed_deletion_is_a_warning(start: Start) -> None:
    gateway = start({"delete": {"status": 500, "body": {"error": "no"}}, **ECHO})
    warnings: list[str] = []
    async with (
        gateway.client() as client,
        open_conversation(client, AGENT, warnings=warnings) as conversation,
    ):
        turn = await conversation.say("hello")
    assert turn.failure is None
    assert len(warnings) == 1
    assert "500" in warnings[0]


@pytest.mark.parametrize("thread", ["a/b c?d#e%2F", "../..", "Grüße 漢字 🔄", "a;b=c&d+e", "%"])
async def test_a_thread_of_any_characters_is_one_segment_of_the_path(
    start: Start, thread: str
) -> None:
    gateway = start(ECHO)
    plan = SessionPlan("support-agent", thread=thread)
    async with gateway.client() as client, open_conversation(client, plan) as conversation:
        turn = await conversation.say("hello")
        session_id = conversation.session.id
    assert (turn.output, turn.failure) == ("Echo: hello", None)
    assert thread in session_id
    for request in gateway.requests[1:]:
        segment = request.path.removeprefix(f"{API}/").partition("/")[0]
        assert unquote(segment) == session_id
        assert segment.isascii()
    assert gateway.scripted.sessions == {}


# --- what is sent ------------------------------------------------------------------------------


async def test_the_create_request_holds_what_was_given_and_nothing_else(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client:
        await client.create_session("support-agent", thread="t-1")
        await client.create_session(
            "support-agent",
            thread="t-2",
            force_new=False,
            dry_run=True,
            provider="claude",
            model="acme/large",
        )
    bare, full = (request.body for request in gateway.requests)
    assert bare == {"agentId": "support-agent", "thread": "t-1", "forceNew": True}
    assert full == {
        "agentId": "support-agent",
        "thread": "t-2",
        "forceNew": False,
        "dryRun": True,
        "provider": "claude",
        "model": "acme/large",
    }


async def test_a_provider_that_is_refused_is_explained(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client:
        with pytest.raises(ConfigError, match="only 'claude'"):
            await client.create_session("support-agent", thread="t", provider="openai")


async def test_the_organisation_goes_with_the_users_token_and_headers_with_everything(
    start: Start,
) -> None:
    gateway = start(ECHO)
    client = gateway.client(org="acme", headers={"X-Proxy-Key": "s3cret-value"})
    async with client, open_conversation(client, AGENT) as conversation:
        await conversation.say("hello")
    create, *others = gateway.requests
    assert create.headers["authorization"] == f"Bearer {TOKEN}"
    assert create.headers["x-lobu-org"] == "acme"
    assert {request.headers["x-proxy-key"] for request in gateway.requests} == {"s3cret-value"}
    assert {request.headers["authorization"] for request in others} == {
        f"Bearer {conversation.session.token}"
    }
    assert not any("x-lobu-org" in request.headers for request in others)


async def test_a_message_is_json_and_says_so(start: Start) -> None:
    """Without the content type a gateway ignores the body and takes its default agent."""
    gateway = start(replies({"text": "ok"}))
    async with gateway.client() as client, open_conversation(client, AGENT) as conversation:
        turn = await conversation.say("Grüße 漢字 🔄 \u2028 \ud83d")
    assert turn.failure is None
    [body] = gateway.messages
    assert body["content"] == "Grüße 漢字 🔄 \u2028 \ud83d"
    posts = [request for request in gateway.requests if request.method == "POST"]
    assert {request.headers["content-type"] for request in posts} == {"application/json"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(start: Start, status: int) -> None:
    target = f"{API}/elsewhere"
    fault = {"status": status, "body": "moved", "headers": {"location": target}}
    gateway = start({"create": fault, **ECHO})
    async with gateway.client() as client:
        with pytest.raises(ConfigError, match=target):
            await client.create_session("support-agent", thread="t-1")
    assert gateway.calls == ["POST"]


async def test_health_is_asked_with_the_users_token(start: Start) -> None:
    gateway = start(ECHO)
    async with gateway.client() as client:
        assert (await client.health())["status"] == "ok"
    assert gateway.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


# --- the provider ------------------------------------------------------------------------------


async def test_the_provider_holds_the_same_conversation(start: Start) -> None:
    gateway = start(replies(tool("lookup", "call_{{turn}}"), {"text": "Echo: {{message}}"}))
    response = await gateway.provider().call_api("", {"vars": {"transcript": [["one", "two"]]}})
    assert response["output"] == "Echo: two"
    assert [call["turn"] for call in response["metadata"]["toolCalls"]] == [1, 2]
    assert gateway.calls == ["POST", "GET events", "POST messages", "POST messages", "DELETE"]
    assert gateway.requests[0].body["dryRun"] is True
    assert response["sessionId"] == gateway.requests[0].body["thread"]


@pytest.mark.parametrize(
    ("config", "vars_"),
    [
        ({"agnet": "x"}, {}),
        ({"timeoutMs": -1}, {}),
        ({"token": "two words"}, {}),
        ({"tokenEnv": "NOT_SET_ANYWHERE"}, {}),
        ({"headers": {"Authorization": "x"}}, {}),
        ({}, {"transcript": "a string that promptfoo split off"}),
        ({}, {"transcript": [["one", 2]]}),
    ],
)
async def test_a_wrong_configuration_reaches_no_gateway(
    start: Start, config: dict[str, Any], vars_: dict[str, Any]
) -> None:
    gateway = start(ECHO)
    response = await gateway.provider(**config).call_api("hello", {"vars": vars_})
    assert response["error"].startswith("[config] ")
    assert response["metadata"]["error"]["class"] == "config"
    assert gateway.requests == []


async def test_a_blank_prompt_reaches_no_gateway(start: Start) -> None:
    gateway = start(ECHO)
    response = await gateway.provider().call_api("  \n", None)
    assert response["error"].startswith("[config] ")
    assert gateway.requests == []
