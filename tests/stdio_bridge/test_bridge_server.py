"""The bridge as the process that it is."""

from __future__ import annotations

import json
import signal

import pytest

import lobu_provider
from lobu_provider.stdio_bridge.calls import MAX_RUNNING
from lobu_provider.stdio_bridge.protocol import PROTOCOL

from .conftest import FAKE, REAL, StartBridge, WatchedGateway

DEMO = {"config": {"agent": "support-agent", "gateway": "script:demo"}}


def test_the_first_line_is_the_handshake(start_bridge: StartBridge) -> None:
    bridge = start_bridge(REAL, read=False)
    bridge.read()
    ready = bridge.next()
    assert (ready["type"], ready["protocol"]) == ("ready", PROTOCOL)
    assert ready["version"] == lobu_provider.__version__
    assert ready["pid"] == bridge.process.pid


def test_a_call_is_answered_as_by_the_provider_itself(start_bridge: StartBridge) -> None:
    bridge = start_bridge(REAL)
    bridge.call("a", "How do refunds work?", DEMO, {"vars": {}})
    response = bridge.responses(1)["a"]
    assert "30 days" in response["output"]
    assert response["metadata"]["toolCalls"][0]["name"] == "search_memory"
    bridge.close_stdin()
    assert bridge.wait() == 0


def test_a_call_overtakes_one_that_takes_longer(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    bridge.call(1, "wait")
    bridge.call(2, "hello")
    assert bridge.responses(1)[2]["output"] == "hello"
    bridge.send(type="cancel", id=1)
    assert bridge.responses(1) == {1: {"output": "stopped"}}


def test_five_hundred_calls_at_once_get_five_hundred_answers(start_bridge: StartBridge) -> None:
    bridge = start_bridge(REAL)
    for number in range(500):
        bridge.call(number, f"How do refunds work? {number}", DEMO)
    responses = bridge.responses(500)
    assert set(responses) == set(range(500))
    for key, response in responses.items():
        assert response["metadata"]["turns"][0]["user"] == f"How do refunds work? {key}"
        assert "error" not in response


def test_calls_beyond_the_limit_wait_and_can_be_cancelled(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    for number in range(500):
        bridge.call(number, "wait")
    for number in reversed(range(500)):
        bridge.send(type="cancel", id=number)
    assert set(bridge.responses(500)) == set(range(500))


def test_answers_that_nobody_reads_yet_are_neither_lost_nor_torn(
    start_bridge: StartBridge,
) -> None:
    bridge = start_bridge(FAKE, read=False)
    for number in range(300):
        bridge.call(number, f"big {1000 * number}")
    bridge.read()
    assert bridge.next()["type"] == "ready"
    responses = bridge.responses(300)
    assert {number: len(r["output"]) for number, r in responses.items()} == {
        number: 1000 * number for number in range(300)
    }


def test_fifty_megabytes_come_and_go_in_one_line(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    bridge.call(1, "x" * 50_000_000)
    bridge.call(2, "small")
    responses = bridge.responses(2)
    assert responses[1]["output"] == "x" * 50_000_000
    assert responses[2]["output"] == "small"


@pytest.mark.parametrize("text", ["\u2028\u2029\x85", "\x00\x1f\r\n", "\ud800", "🦉 Grüße", ""])
def test_any_text_comes_back_as_it_was(start_bridge: StartBridge, text: str) -> None:
    bridge = start_bridge()
    bridge.call(1, text, {"config": {text: text}}, {"vars": {"a": text}})
    assert bridge.responses(1)[1] == {
        "output": text,
        "options": {"config": {text: text}},
        "context": {"vars": {"a": text}},
    }


def test_what_anybody_prints_goes_to_stderr_and_stdin_is_empty(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    bridge.call(1, "print")
    bridge.call(2, "after")
    assert bridge.responses(2)[1] == {"output": ""}
    bridge.close_stdin()
    assert bridge.wait() == 0
    for stray in (b"stray print", b"stray write", b"stray child", b"on stderr"):
        assert stray in bridge.stderr


def test_lines_that_are_no_messages_are_told_and_change_nothing(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    bridge.call(1, "wait")
    bridge.raw(b'garbage\n\n\xff\xfe\n{"type":"call","id":7,"prom\n')
    assert [bridge.next()["id"] for _ in range(3)] == [None, None, 7]
    bridge.call(1, "the same id again")
    fault = bridge.next()
    assert (fault["type"], fault["id"]) == ("fault", None)
    assert "in use" in fault["message"]
    bridge.send(type="cancel", id=1)
    assert bridge.responses(1) == {1: {"output": "stopped"}}


@pytest.mark.parametrize("prompt", ["raise boom", "exit", "unfit"])
def test_a_bug_in_a_call_is_an_error_row_and_the_server_goes_on(
    start_bridge: StartBridge, prompt: str
) -> None:
    bridge = start_bridge()
    bridge.call(1, prompt)
    assert bridge.responses(1)[1]["error"].startswith("[internal] ")
    bridge.call(2, "hello")
    assert bridge.responses(1)[2]["output"] == "hello"


def test_the_end_of_stdin_deletes_the_session_of_a_running_call(
    start_bridge: StartBridge, gateway: tuple[WatchedGateway, str]
) -> None:
    watched, url = gateway
    bridge = start_bridge(REAL)
    bridge.call(1, "slow please", watched.options(url))
    watched.wait_for_message()
    assert watched.sessions
    bridge.close_stdin()
    assert bridge.wait() == 0
    assert not watched.sessions


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_deletes_the_sessions_and_returns_what_had_arrived(
    start_bridge: StartBridge, gateway: tuple[WatchedGateway, str], number: signal.Signals
) -> None:
    watched, url = gateway
    bridge = start_bridge(REAL)
    bridge.call(1, "slow please", watched.options(url))
    watched.wait_for_message()
    bridge.process.send_signal(number)
    response = bridge.responses(1)[1]
    assert response["metadata"]["error"]["code"] == "cancelled"
    assert bridge.wait() == 128 + number
    assert not watched.sessions


def test_a_server_that_ends_tells_which_calls_it_has_begun_and_begins_no_other(
    start_bridge: StartBridge,
) -> None:
    bridge = start_bridge()
    for number in range(MAX_RUNNING + 2):
        bridge.call(number, "wait")
    bridge.send(type="cancel", id=MAX_RUNNING + 1)
    assert bridge.responses(1) == {MAX_RUNNING + 1: {"output": "stopped"}}  # so all were read
    bridge.process.send_signal(signal.SIGTERM)
    ending = bridge.next()
    assert ending["type"] == "ending"
    # The call that was answered may still be named: its line is out before it is done.
    assert set(ending["running"]) - {MAX_RUNNING + 1} == set(range(MAX_RUNNING))
    assert set(bridge.responses(MAX_RUNNING)) == set(range(MAX_RUNNING))
    assert bridge.wait() == 128 + signal.SIGTERM
    assert bridge.rest() == []


def test_a_cancelled_call_deletes_its_session_and_no_other(
    start_bridge: StartBridge, gateway: tuple[WatchedGateway, str]
) -> None:
    watched, url = gateway
    bridge = start_bridge(REAL)
    for number in (1, 2):
        bridge.call(number, f"slow {number}", watched.options(url))
        watched.wait_for_message()
    bridge.send(type="cancel", id=1)
    response = bridge.responses(1)[1]
    assert response["error"].startswith("[cancelled]")
    (left,) = watched.sessions.values()
    assert response["metadata"]["gatewaySessionId"] not in watched.sessions
    bridge.close_stdin()
    bridge.wait()
    assert left.conversation_id not in watched.sessions


def test_a_thread_that_hangs_does_not_hold_the_end(start_bridge: StartBridge) -> None:
    bridge = start_bridge()
    bridge.call(1, "block")
    bridge.responses(1)
    bridge.close_stdin()
    assert bridge.wait() == 0


def test_a_client_that_reads_no_more_ends_the_bridge(start_bridge: StartBridge) -> None:
    bridge = start_bridge(FAKE, read=False)
    assert bridge.process.stdout is not None
    assert bridge.process.stdout.readline() == b"\n"  # ends what a wrapper may have printed
    assert json.loads(bridge.process.stdout.readline())["type"] == "ready"
    bridge.process.stdout.close()
    bridge.call(1, "hello")
    assert bridge.wait() == 0
