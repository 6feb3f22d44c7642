"""Sweeping: the sessions that a run left are deleted, and no others, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import ledger
from lobu_provider.config.settings import load_settings
from lobu_provider.extension import hooks
from lobu_provider.extension.hooks import after_all, before_all
from lobu_provider.gateway_client import GatewayClient
from lobu_provider.session_notes import marker_of
from tests.extension.conftest import AGENT, TOKEN, Serve, Served, python_provider, suite_of

RUN = "eval-abc-2026-09-01T10:00:00"


def leave(served: Served, *threads: str, run: str | None = RUN, **note: Any) -> None:
    """Create sessions as a worker does that is killed before it deletes them."""

    async def create() -> None:
        async with GatewayClient(served.url, TOKEN) as client:
            for thread in threads:
                session = await client.create_session(AGENT, thread=thread)
                if run is not None:
                    given = {"session_id": session.id, "agent_id": AGENT, "thread": thread, **note}
                    assert ledger.note_created(run, served.url, **given)

    asyncio.run(create())


def after(told: list[str], *providers: dict[str, Any], run: Any = RUN) -> None:
    after_all({"evalId": run, "suite": suite_of(*providers), "results": []}, say=told.append)


def before(told: list[str], *providers: dict[str, Any]) -> None:
    before_all({"suite": suite_of(*providers)}, say=told.append)


def test_what_the_run_left_is_deleted_and_what_others_left_is_not(
    serve: Serve, token: str, told: list[str], ledgers: Path
) -> None:
    served = serve()
    leave(served, "mine-1", "mine-2")
    leave(served, "theirs", run="eval-other")
    leave(served, "by-hand", run=None)
    after(told, served.provider())
    assert served.threads == ["by-hand", "theirs"]
    assert told == ["2 sessions left by this run were deleted."]
    assert [run.evaluation_id for run in ledger.runs()] == ["eval-other"]


def test_a_session_whose_id_was_not_known_yet_is_found_by_its_thread(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    leave(served, "cut-off", session_id="")
    after(told, served.provider())
    assert served.threads == []


def test_a_session_that_is_gone_already_is_no_fault(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    ledger.note_created(RUN, served.url, "", AGENT, "never-made")
    after(told, served.provider())
    assert served.threads == []
    assert ledger.left(RUN) == []


def test_a_run_that_left_nothing_asks_nobody_and_leaves_no_file(
    serve: Serve, token: str, told: list[str], ledgers: Path
) -> None:
    served = serve()
    leave(served, "done")
    ledger.note_deleted(RUN, served.url, AGENT, "done")
    asked = len(served.gateway.requests)
    after(told, served.provider())
    assert len(served.gateway.requests) == asked
    assert told == []
    assert list(ledgers.iterdir()) == []


def test_many_are_deleted_at_once(serve: Serve, token: str, told: list[str]) -> None:
    served = serve()
    leave(served, *[f"t-{n}" for n in range(40)])
    after(told, served.provider())
    assert served.threads == []


def test_two_accounts_at_one_agent_are_told_apart_by_the_marker(
    serve: Serve, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHT", TOKEN)
    monkeypatch.setenv("WRONG", "owl_pat_of_somebody_else_1")
    served = serve()
    right, wrong = served.provider(tokenEnv="RIGHT"), served.provider(tokenEnv="WRONG")
    leave(served, "mine", marker=marker_of(load_settings(right["options"])))
    after(told, wrong, right)
    assert served.threads == []


def test_without_a_marker_two_accounts_are_not_tried_in_turn(
    serve: Serve, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONE", TOKEN)
    monkeypatch.setenv("TWO", "owl_pat_of_somebody_else_1")
    served = serve()
    leave(served, "mine")
    after(told, served.provider(tokenEnv="ONE"), served.provider(tokenEnv="TWO"))
    assert served.threads == ["mine"]
    assert "1 session of this run could not be deleted." in told[0]


def test_the_session_of_another_user_is_not_called_deleted(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    ledger.note_created(RUN, served.url, f"{AGENT}_another-user_org_t", AGENT, "t")
    after(told, served.provider())
    assert "1 session of this run could not be deleted" in told[0]
    assert served.threads == []
    assert len(ledger.left(RUN)) == 1


@pytest.mark.parametrize("fault", [{"status": 500}, {"reset": True}])
def test_what_cannot_be_deleted_is_told_and_stays_in_the_ledger(
    serve: Serve, token: str, told: list[str], fault: Any
) -> None:
    served = serve(delete=fault)
    leave(served, "stuck")
    after(told, served.provider())
    assert told[0].startswith("1 session of this run could not be deleted (")
    assert "The next run with this hook tries again" in told[0]
    assert TOKEN not in told[0]
    assert [session.thread for session in ledger.left(RUN)] == ["stuck"]


def test_a_gateway_that_hangs_does_not_hold_the_end_of_the_run(
    serve: Serve, token: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "AFTER_S", 0.3)
    served = serve(delete={"delay_ms": 60_000, "status": 500})
    leave(served, "stuck", "too")
    after(told, served.provider())
    assert told[0].startswith("2 sessions of this run could not be deleted (the gateway is slow")


def test_a_suite_without_the_token_tells_so(serve: Serve, told: list[str]) -> None:
    served = serve()
    leave(served, "mine")
    after(told, served.provider())
    assert "could not be deleted (providers[0]: [config] No token for the gateway" in told[0]
    assert len(ledger.left(RUN)) == 1


@pytest.mark.parametrize("context", [None, 7, {}, {"evalId": None}, {"evalId": 7, "suite": []}])
def test_an_odd_context_is_no_fault(told: list[str], context: Any) -> None:
    after_all(context, say=told.append)
    assert told == []


# --- runs that were killed


def test_the_next_run_sweeps_what_a_killed_one_left(
    serve: Serve, token: str, told: list[str], ledgers: Path, end_of_run: Callable[[], None]
) -> None:
    served = serve()
    leave(served, "killed-1", "killed-2")
    end_of_run()
    before(told, served.provider())
    assert served.threads == []
    assert told == ["2 sessions of earlier runs that were killed were deleted."]
    assert list(ledgers.iterdir()) == []


def test_a_run_that_lives_is_never_swept_by_another(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    leave(served, "alive")
    before(told, served.provider())
    assert served.threads == ["alive"]


def test_a_killed_run_of_another_gateway_waits_for_one_that_knows_it(
    serve: Serve, token: str, told: list[str], end_of_run: Callable[[], None]
) -> None:
    there, here = serve(), serve()
    leave(there, "killed")
    end_of_run()
    before(told, here.provider())
    assert there.threads == ["killed"]
    assert told == []
    end_of_run()
    before(told, there.provider())
    assert there.threads == []


def test_a_sweep_that_fails_before_a_run_does_not_stop_it(
    serve: Serve, token: str, told: list[str], end_of_run: Callable[[], None]
) -> None:
    served = serve(delete={"status": 500})
    leave(served, "killed")
    end_of_run()
    before(told, served.provider())
    assert len(ledger.left(RUN)) == 1


def test_with_the_embedded_gateway_nothing_is_noted_or_swept(told: list[str]) -> None:
    before(told, python_provider(agent=AGENT, gateway="script:demo"))
    after(told, python_provider(agent=AGENT, gateway="script:demo"))
    assert told == []
