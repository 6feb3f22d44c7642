"""Status codes and bodies of refused requests, as a real gateway was seen to answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import API, Connect

pytestmark = pytest.mark.anyio

SCRIPT: dict[str, Any] = {"agents": ["support-agent", "other"], "replies": []}
FORBIDDEN = {"success": False, "error": "Forbidden"}
UNAUTHORIZED = {"success": False, "error": "Unauthorized"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"provider": "openai"}, 'Invalid input: expected "claude"'),
        ({"agentId": ""}, "Too small: expected string to have >=1 characters"),
        ({"agentId": 5}, "Invalid input: expected string, received number"),
        ({"thread": None}, "Invalid input: expected string, received null"),
    ],
)
async def test_a_bad_create_body_gets_an_error_that_is_an_object(
    connect: Connect, fields: dict[str, Any], message: str
) -> None:
    async with connect(SCRIPT) as caller:
        response = await caller.create(**fields)
        error = response.json()["error"]
        assert response.status_code == 400
        assert error["name"] == "ZodError"
        issue = json.loads(error["message"])[0]
        assert (issue["path"], issue["message"]) == (list(fields), message)


async def test_n_answers_bad_bodies_with_flat_strings(connect: Connect) -> None:
    async with connect({**SCRIPT, "flavour": "n"}) as caller:
        wrong = await caller.create(provider="openai")
        nobody = await caller.http.post(API, json={})
        await caller.create()
        empty = await caller.say("")
        approve = await caller.http.post(f"{API}/approve", json={})
        assert wrong.json()["error"] == "/provider Expected 'claude'"
        assert (nobody.status_code, empty.status_code, approve.status_code) == (400, 400, 404)
        assert empty.json()["error"] == "content or files required"


async def test_an_unknown_agent_is_forbidden_and_a_default_agent_is_assumed(
    connect: Connect,
) -> None:
    async with connect(SCRIPT) as caller:
        response = await caller.create(agentId="nope")
        assert (response.status_code, response.json()) == (403, FORBIDDEN)
    async with connect({"replies": []}) as caller:
        response = await caller.http.post(API, content='{"agentId":"a"}')
        assert response.json()["agentId"].startswith("owletto-default_")


async def test_a_wrong_token_is_refused_in_the_shape_of_its_kind(connect: Connect) -> None:
    async with connect({**SCRIPT, "token": "owl_pat_good"}) as caller:
        bad_pat = await caller.http.post(
            API, json={}, headers={"authorization": "Bearer OWL_PAT_x"}
        )
        other = await caller.http.post(API, json={}, headers={"authorization": "Bearer x"})
        none = await caller.http.post(API, json={}, headers={"authorization": ""})
        assert [r.status_code for r in (bad_pat, other, none)] == [401] * 3
        assert bad_pat.json() == {
            "error": "invalid_token",
            "error_description": "PAT is invalid, expired, or revoked",
        }
        assert other.json() == none.json() == UNAUTHORIZED


async def test_an_unknown_organization_is_not_found(connect: Connect) -> None:
    async with connect({**SCRIPT, "orgs": ["acme"]}) as caller:
        caller.http.headers["x-lobu-org"] = "acne"
        refused = await caller.create()
        assert (refused.status_code, refused.json()) == (
            404,
            {"error": 'Unknown organization "acne"'},
        )
        caller.http.headers["x-lobu-org"] = "acme"
        assert (await caller.create()).status_code == 201


async def test_a_session_token_serves_every_session_of_its_agent_and_no_other(
    connect: Connect,
) -> None:
    good = {"authorization": "Bearer owl_pat_good"}
    async with connect({**SCRIPT, "token": "owl_pat_good"}) as caller:
        caller.http.headers.update(good)
        await caller.create(agentId="other")
        other = caller.url()
        await caller.create(thread="t-1")
        first = caller.url()
        await caller.create(thread="t-2")
        caller.http.headers["authorization"] = f"Bearer {caller.created['token']}"
        assert (await caller.http.get(first)).status_code == 200
        assert (await caller.http.get(f"{other}/events")).json() == FORBIDDEN
        assert (await caller.create(agentId="other")).status_code == 403


async def test_wrong_paths_are_answered_by_whoever_owns_them(connect: Connect) -> None:
    async with connect(SCRIPT) as caller:
        without = await caller.http.post("/api/v1/agents", json={})
        doubled = await caller.http.post("/lobu/lobu/api/v1/agents", json={})
        slash = await caller.http.post(f"{API}/", json={})
        deeper = await caller.http.get(f"{API}/x/y/z")
        assert without.status_code == 404
        assert without.json() == {
            "error": "invalid_request",
            "error_description": "Organization 'v1' not found",
        }
        assert [(r.status_code, r.text) for r in (doubled, slash)] == [(404, "404 Not Found")] * 2
        assert deeper.json()["mcp_endpoint"] == "http://127.0.0.1:8787/mcp"


async def test_health_needs_no_token(connect: Connect) -> None:
    async with connect(SCRIPT) as caller:
        del caller.http.headers["authorization"]
        assert (await caller.http.get("/lobu/health")).json()["version"] == "2.3.0"


async def test_messages_need_content_that_is_a_string(connect: Connect) -> None:
    async with connect(SCRIPT) as caller:
        await caller.create()
        empty = await caller.say("")
        number = await caller.http.post(caller.url("/messages"), json={"content": 5})
        headers = {"content-type": "application/json"}
        torn = await caller.http.post(caller.url("/messages"), content="{oops", headers=headers)
        assert (empty.status_code, empty.json()["error"]) == (400, "content is required")
        assert number.json()["error"]["name"] == "ZodError"
        assert (torn.status_code, torn.json()) == (500, {"error": "Internal server error"})


async def test_approving_with_the_session_token_is_an_identity_mismatch(connect: Connect) -> None:
    card = {"type": "tool-approval", "toolName": "save_memory", "args": {}, "requestId": "ta_1"}
    async with connect({"replies": [{"steps": [{"card": card}, {"text": "asked"}]}]}) as caller:
        await caller.create()
        await caller.say("save")
        body = {"requestId": "ta_1", "decision": "1h"}
        session = {"authorization": f"Bearer {caller.created['token']}"}
        mismatch = await caller.http.post(f"{API}/approve", json=body, headers=session)
        bad = await caller.http.post(f"{API}/approve", json={**body, "decision": "sometimes"})
        good = await caller.http.post(f"{API}/approve", json=body)
        assert (mismatch.status_code, bad.status_code, good.status_code) == (403, 400, 200)
        assert mismatch.json() == {"error": "Approval identity mismatch"}


async def test_create_events_and_delete_can_be_made_to_fail(connect: Connect) -> None:
    faults = {
        "create": {"status": 502, "body": {"oops": 1}, "times": 1},
        "events": {"status": 429, "headers": {"X-Why": "busy"}, "times": 1},
        "delete": {"status": 500, "body": "no"},
    }
    async with connect({**SCRIPT, **faults}) as caller:
        assert (await caller.create()).json() == {"oops": 1}
        assert (await caller.create()).status_code == 201
        refused = await caller.http.get(caller.url("/events"))
        assert (refused.status_code, refused.headers["x-why"]) == (429, "busy")
        assert (await caller.http.delete(caller.url())).text == "no"
        assert len(caller.gateway.sessions) == 1
