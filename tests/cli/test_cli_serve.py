"""``lobu-provider serve``."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from .conftest import AGENT, CANARY, RunCli, StartCli

API = "/lobu/api/v1/agents"
AUTH = {"authorization": "Bearer owl_pat_any"}


def exported(line: str) -> str:
    return line.partition("=")[2]


def test_what_is_printed_to_export_makes_ask_work(
    start_cli: StartCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = start_cli("serve", "--port", "0")
    for name in ("LOBU_GATEWAY", "LOBU_AGENT", "LOBU_TOKEN"):
        line = serving.stderr.wait_for(f"export {name}=")
        monkeypatch.setenv(name, exported(line))
    asking = start_cli("ask", "hello")
    assert asking.end() == 0
    assert asking.stdout.text.startswith("Hello!")
    assert serving.stdout.text == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to one child process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_with_exit_code_0_although_a_stream_is_open(
    start_cli: StartCli, number: signal.Signals
) -> None:
    serving = start_cli("serve", "demo", "--port", "0")
    url = exported(serving.stderr.wait_for("export LOBU_GATEWAY="))
    serving.stderr.wait_for("export LOBU_TOKEN=")
    with httpx.Client(base_url=url, headers=AUTH, trust_env=False) as client:
        session = client.post(API, json={"agentId": AGENT}).json()["agentId"]
        with client.stream("GET", f"{API}/{session}/events") as response:
            chunks = response.iter_bytes()
            assert b"event: connected" in next(chunks)
            serving.process.send_signal(number)
            assert list(chunks) == []
    assert serving.end() == 0
    assert "Traceback" not in serving.stderr.text


def test_a_script_of_one_s_own_is_served_and_its_token_not_printed(
    start_cli: StartCli, folder: Path
) -> None:
    script = (
        '{"version": 1, "agents": ["my agent"], "token": "' + CANARY + '", '
        '"replies": [{"steps": [{"text": "Mine."}]}]}'
    )
    (folder / "mine.json").write_text(script, "utf-8")
    serving = start_cli("serve", "mine.json", "--port", "0")
    assert serving.stderr.wait_for("export LOBU_AGENT=") == "export LOBU_AGENT='my agent'"
    serving.stderr.wait_for("export LOBU_TOKEN=")
    assert "canary" not in serving.stderr.text


def test_a_port_in_use_is_told_in_one_line(run_cli: RunCli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run_cli("serve", "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "Cannot listen on 127.0.0.1:" in result.stderr
    assert result.stderr.count("--port 0 takes a free one") == 1
    assert "in use" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_address_that_is_not_here_is_told_without_advice_about_the_port(
    run_cli: RunCli,
) -> None:
    result = run_cli("serve", "--host", "192.0.2.1", "--port", "0")
    assert result.exit_code == 2
    assert "give another --host or --port" in result.stderr


def test_a_script_that_is_not_there_is_told(run_cli: RunCli) -> None:
    result = run_cli("serve", "nope.json")
    assert result.exit_code == 2
    assert "nope.json" in result.stderr


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_what_to_install(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == module or name == "lobu_provider.scripted_gateway.server":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    result = run_cli("serve")
    assert result.exit_code == 2
    assert f"{sys.executable} -m pip install 'lobu-provider[gateway]'" in result.stderr
