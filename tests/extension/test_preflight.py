"""Preflight: what stops a run before its first test, what is only told, over real sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import ledger
from lobu_provider.extension import hooks, preflight
from lobu_provider.extension.hooks import StopRun, before_all
from lobu_provider.extension.sweep import Swept
from lobu_provider.probe import gateway as gateway_probe
from lobu_provider.probe.gateway import Target
from tests.extension.conftest import AGENT, TOKEN, Serve, age, python_provider, suite_of

PACKAGE = "@lobu/promptfoo-provider"


def run(told: list[str], *providers: dict[str, Any]) -> None:
    before_all({"suite": suite_of(*providers)}, say=told.append)


def stopped(told: list[str], *providers: dict[str, Any]) -> str:
    with pytest.raises(StopRun) as stop:
        run(told, *providers)
    assert str(stop.value).startswith("The run was stopped before its first test.\n")
    assert TOKEN not in str(stop.value)
    return str(stop.value)


@pytest.mark.usefixtures("patient")
def test_a_good_gateway_lets_the_run_go_on_and_keeps_nothing(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    run(told, served.provider())
    assert told == []
    assert (served.asked("POST"), served.asked("DELETE")) == (1, 1)
    assert served.threads == []


def test_each_distinct_gateway_agent_and_account_is_asked_once(
    serve: Serve, token: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAME_TOKEN", TOKEN)
    one, two = serve(), serve(agents=None, token=None)
    other_agent = python_provider(agent="another", gateway=two.address)
    run(
        told,
        one.provider(),
        one.provider(timeoutMs=5000),
        one.provider(tokenEnv="SAME_TOKEN"),
        two.provider(),
        other_agent,
    )
    assert (one.asked("POST"), two.asked("POST")) == (1, 2)


def test_a_gateway_that_is_not_there_stops_the_run(token: str, told: list[str]) -> None:
    provider = python_provider(agent=AGENT, gateway="http://127.0.0.1:9")
    said = stopped(told, provider)
    assert "providers[0]: [gateway] Cannot reach the gateway at http://127.0.0.1:9" in said
    assert "Fix: Start the gateway" in said


def test_a_refused_token_stops_the_run_with_the_command_to_get_one(
    serve: Serve, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOBU_TOKEN", "owl_pat_expired_0123456789")
    said = stopped(told, serve().provider())
    assert "[auth]" in said
    assert 'Fix: export LOBU_TOKEN="$(lobu token --raw)"' in said
    assert "expired_0123" not in said


def test_no_token_at_all_stops_the_run_without_a_request(serve: Serve, told: list[str]) -> None:
    served = serve()
    said = stopped(told, served.provider(tokenEnv="NOT_SET"))
    assert "'NOT_SET' is not set" in said
    assert 'Fix: export NOT_SET="$(lobu token --raw)"' in said
    assert served.gateway.requests == []


def test_an_unknown_agent_stops_the_run(serve: Serve, token: str, told: list[str]) -> None:
    provider = python_provider(agent="suport-agent", gateway=serve().address)
    said = stopped(told, provider)
    assert "[not_found]" in said
    assert "Fix: Check the agent (LOBU_AGENT)" in said


def test_a_wrong_key_stops_the_run_also_with_the_embedded_gateway(told: list[str]) -> None:
    provider = python_provider(agent=AGENT, gateway="script:demo", agentt="x")
    assert "agentt" in stopped(told, provider)


def test_every_fault_is_told_each_with_its_provider(
    serve: Serve, token: str, told: list[str]
) -> None:
    there = serve().address
    first, second = python_provider(agent="x", gateway=there), serve().provider()
    third = {**python_provider(agent="y", gateway=there), "label": "staging"}
    said = stopped(told, first, second, third)
    assert "providers[0]: [not_found]" in said
    assert "providers[2] (staging): [not_found]" in said
    assert "providers[1]" not in said


@pytest.mark.usefixtures("patient")
def test_the_embedded_gateway_needs_no_preflight(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("nothing was to be asked")

    monkeypatch.setattr("lobu_provider.extension.preflight.probe", fail)
    run(told, python_provider(agent=AGENT, gateway="script:demo", tokenEnv="NOT_SET"))
    assert told == []


def test_values_of_the_config_files_env_block_are_used(serve: Serve, told: list[str]) -> None:
    served = serve()
    provider = python_provider()
    provider["options"]["env"] = {
        "LOBU_AGENT": AGENT,
        "LOBU_GATEWAY": served.address,
        "LOBU_TOKEN": TOKEN,
    }
    run(told, provider)
    assert served.asked("DELETE") == 1


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_gateway_that_is_slow_is_told_and_does_not_stop_the_run(
    silent: str, token: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "BEFORE_S", 0.3)
    run(told, python_provider(agent=AGENT, gateway=silent))
    (said,) = told
    assert "providers[0]: " in said
    assert "in time" in said
    assert said.endswith("So it was not checked; the run goes on.")


def test_a_name_that_is_not_resolved_in_time_is_told_and_does_not_stop_the_run(
    serve: Serve, token: str, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = threading.Event()
    monkeypatch.setattr(gateway_probe, "_look_up", lambda host: stop.wait(30))
    monkeypatch.setattr(preflight, "_NAME_LIMIT_S", 0.1)
    try:
        run(told, python_provider(agent=AGENT, gateway="http://slow.example"))
    finally:
        stop.set()
    (said,) = told
    assert said == (
        "providers[0]: http://slow.example/lobu: its name is not resolved in time. "
        "So it was not checked; the run goes on."
    )


def test_no_sweep_waits_for_a_name_that_is_not_resolved_in_time(
    token: str,
    told: list[str],
    end_of_run: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger.note_created("killed", "http://slow.example/lobu", "", AGENT, "left")
    end_of_run()
    stop = threading.Event()
    asked: list[Target] = []

    def sweep(run_id: str, targets: Sequence[Target], limit_s: float) -> Swept:
        asked.extend(targets)
        return Swept()

    monkeypatch.setattr(gateway_probe, "_look_up", lambda host: stop.wait(30))
    monkeypatch.setattr(preflight, "_NAME_LIMIT_S", 0.1)
    monkeypatch.setattr("lobu_provider.extension.sweep.sweep", sweep)
    try:
        run(told, python_provider(agent=AGENT, gateway="http://slow.example"))
    finally:
        stop.set()
    assert asked == []
    assert len(told) == 1


def test_a_session_that_a_slow_gateway_may_have_made_is_left_to_a_later_run(
    silent: str, token: str, told: list[str], ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "BEFORE_S", 0.3)
    run(told, python_provider(agent=AGENT, gateway=silent))
    (noted,) = ledger.runs()
    (session,) = noted.sessions
    assert (session.gateway, session.agent_id) == (f"{silent}/lobu", AGENT)
    assert session.session_id == ""


def test_a_session_that_was_being_made_when_the_hook_was_killed_is_left_to_a_later_run(
    token: str, ledgers: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        suite = suite_of(python_provider(agent=AGENT, gateway=address))
        asked = json.dumps({"hook": "beforeAll", "context": {"suite": suite}})
        command = [sys.executable, "-m", "lobu_provider.extension"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            process.stdin.write(asked)
            process.stdin.close()
            connection, _ = server.accept()
            with connection:
                assert connection.recv(4) == b"POST"
                process.kill()
                process.wait()
    (path,) = ledgers.iterdir()
    age(path, ledger.QUIET_S + 1)
    (noted,) = ledger.runs()
    assert noted.is_dead
    (session,) = noted.sessions
    assert (session.gateway, session.agent_id) == (f"{address}/lobu", AGENT)
    assert session.thread.startswith("lobu-check-")


@pytest.mark.parametrize(
    ("script", "is_noted"),
    [
        ({}, False),
        ({"agents": ["another"]}, False),
        ({"token": "another"}, False),
        ({"delete": {"status": 500}}, True),
    ],
)
def test_the_session_of_a_check_is_noted_as_long_as_it_may_be_there(
    serve: Serve, token: str, told: list[str], ledgers: Path, script: Any, is_noted: bool
) -> None:
    with suppress(StopRun):
        run(told, serve(**script).provider())
    assert len(list(ledgers.iterdir())) == is_noted


def test_a_busy_gateway_does_not_stop_the_run(serve: Serve, token: str, told: list[str]) -> None:
    run(told, serve(create={"status": 429, "body": {"error": "busy"}}).provider())
    assert "[rate_limit]" in told[0]


def test_a_session_that_cannot_be_deleted_is_told(
    serve: Serve, token: str, told: list[str]
) -> None:
    run(told, serve(delete={"status": 500}).provider())
    assert "not deleted" in told[0]


def test_a_slow_token_command_is_told_and_does_not_stop_the_run(
    serve: Serve, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lobu_provider.extension.targets._TOKEN_LIMIT_S", 0.1)
    run(told, serve().provider(tokenCommand="sleep 30"))
    assert told == ["providers[0] was not checked: config.tokenCommand is slow."]


def test_a_token_command_that_fails_stops_the_run(serve: Serve, told: list[str]) -> None:
    assert "exit code 1" in stopped(told, serve().provider(tokenCommand="false"))


def test_an_npm_provider_that_hides_options_is_not_judged(told: list[str]) -> None:
    run(told, {"package": PACKAGE, "hidden": True, "config": {"agent": "a"}})
    assert told[0].startswith("providers[0] was not looked at: the npm package tells no secrets")


def test_an_npm_provider_that_hides_nothing_is_checked(
    serve: Serve, token: str, told: list[str]
) -> None:
    served = serve()
    config = {"agent": AGENT, "gateway": served.address}
    run(told, {"package": PACKAGE, "hidden": False, "config": config})
    assert served.asked("DELETE") == 1


def test_no_secret_is_in_what_is_told(serve: Serve, told: list[str]) -> None:
    served = serve(create={"status": 401, "body": {"error": f"bad {TOKEN} and sesame-open-1"}})
    said = stopped(told, served.provider(token=TOKEN, headers={"X-Auth": "sesame-open-1"}))
    assert "[auth]" in said
    assert "sesame" not in said


DEAD = {"agent": AGENT, "gateway": "http://127.0.0.1:9"}


@pytest.mark.parametrize(("mode", "ci"), [("replay", ""), ("replay", "true"), ("auto", "true")])
def test_cassettes_are_replayed_without_a_token_or_a_look_at_the_gateway(
    told: list[str], monkeypatch: pytest.MonkeyPatch, mode: str, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.delenv("LOBU_TOKEN", raising=False)
    dead = python_provider(**DEAD, cassettes="c", cassetteMode=mode)
    run(told, dead)
    assert told == []


def test_cassettes_that_are_recorded_or_may_be_need_the_gateway(
    told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOBU_TOKEN", raising=False)
    for mode in ("record", "auto"):
        dead = python_provider(**DEAD, cassettes="c", cassetteMode=mode)
        assert "No token for the gateway" in stopped(told, dead)
