"""``lobu-provider ask``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import AGENT, CANARY, RunCli, Serve, Served, StartCli

Connected = Callable[..., Served]
DEMO = ("--gateway", "script:demo", "--agent", AGENT)


def says(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"steps": list(steps)}]


def test_an_answer_goes_to_stdout_and_a_tool_call_to_stderr(run_cli: RunCli) -> None:
    result = run_cli("ask", *DEMO, "What is your refund policy?")
    assert result.exit_code == 0
    assert result.stdout == (
        "You can return any item within 30 days for a full refund. The money goes back to your "
        "original payment method within 3 to 5 business days.\n"
    )
    assert result.stderr.startswith('tool: search_memory {"query": "refund policy"} -> {')


def test_further_questions_are_turns_of_the_same_conversation(run_cli: RunCli) -> None:
    result = run_cli("ask", *DEMO, "I want to return order 17.", "Yes, please refund it.")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first.startswith("I found order 17")
    assert second.startswith("Done. I refunded 39.90 EUR")
    assert "> Yes, please refund it.\n" in result.stderr


def test_json_is_one_document_with_the_provider_s_response(run_cli: RunCli) -> None:
    result = run_cli("ask", *DEMO, "--json", "I want to return order 17.", "Yes, refund it.")
    response = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert response["output"].startswith("Done.")
    assert [call["name"] for call in response["metadata"]["toolCalls"]] == [
        "lookup_order",
        "refund_order",
    ]
    assert response["metadata"]["warnings"] == []


def test_a_dash_reads_the_question_from_stdin(run_cli: RunCli) -> None:
    result = run_cli("ask", *DEMO, "-", input="hello\n")
    assert result.stdout.startswith("Hello!")
    assert run_cli("ask", *DEMO, "-", "-", input="hello\n").exit_code == 2
    binary = run_cli("ask", *DEMO, "-", input=b"\xff\xfe")
    assert (binary.exit_code, "stdin is not UTF-8" in binary.stderr) == (2, True)
    assert run_cli("ask", *DEMO, "-", input=" \n").exit_code == 2


def test_options_reach_the_gateway_as_the_config_keys_do(
    run_cli: RunCli, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(replies=says({"text": "Hi."}), token=CANARY)
    monkeypatch.setenv("OTHER_TOKEN", CANARY)
    options = ["--gateway", served.url, "--agent", "a-1", "--token-env", "OTHER_TOKEN"]
    result = run_cli("ask", *options, "--org", "acme", "--thread", "t-9", "hello")
    assert (result.exit_code, result.stdout) == (0, "Hi.\n")
    create = served.gateway.requests[0]
    assert create.headers["x-lobu-org"] == "acme"
    assert (create.fields["agentId"], create.fields["thread"]) == ("a-1", "t-9")
    assert list(served.gateway.sessions) == ["a-1_user_script_org_script_t-9"]  # kept


def test_without_a_thread_the_session_is_deleted(run_cli: RunCli, connected: Connected) -> None:
    served = connected(replies=says({"text": "Hi."}))
    assert run_cli("ask", "hello").exit_code == 0
    assert served.gateway.sessions == {}


def test_what_of_the_final_text_was_not_streamed_is_printed(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(
        replies=says({"text": "Hello", "deltas": 1}, {"complete": {"finalText": "Hello there."}})
    )
    result = run_cli("ask", "hi")
    assert (result.stdout, result.stderr) == ("Hello there.\n", "")


def test_a_replaced_answer_is_told_and_printed_whole(run_cli: RunCli, connected: Connected) -> None:
    connected(replies=says({"text": "The draft.", "deltas": 1}, {"complete": {"finalText": "No."}}))
    result = run_cli("ask", "hi")
    assert result.stdout == "The draft.\nNo.\n"
    assert "replaced the streamed text" in result.stderr


def test_cards_failed_tools_and_notices_go_to_stderr(run_cli: RunCli, connected: Connected) -> None:
    connected(
        replies=says(
            {"tool": {"name": "look", "input": {"id": 1}, "isError": True}},
            {"card": {"type": "question", "question": "Which one?", "options": ["a", "b"]}},
            {"text": "Tell me."},
        )
    )
    result = run_cli("ask", "hi")
    assert (result.exit_code, result.stdout) == (0, "Tell me.\n")
    assert 'tool failed: look {"id": 1}\n' in result.stderr
    assert "question: {" in result.stderr
    assert '"question": "Which one?"' in result.stderr


def test_an_error_of_the_agent_is_exit_code_1_and_keeps_the_text(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(replies=says({"text": "Half an ans", "deltas": 1}, {"error": "400 Bad request"}))
    result = run_cli("ask", "hi")
    assert result.exit_code == 1
    assert result.stdout.startswith("Half an ans")
    assert "error: [provider] " in result.stderr
    as_json = run_cli("ask", "--json", "hi")
    assert as_json.exit_code == 1
    assert json.loads(as_json.stdout)["metadata"]["error"]["code"] == "provider"
    assert as_json.stderr == ""


def test_after_a_failed_turn_the_next_one_is_not_sent(
    run_cli: RunCli, connected: Connected
) -> None:
    served = connected(replies=says({"error": "400 Bad request"}))
    assert run_cli("ask", "one", "two").exit_code == 1
    sent = [r.fields["content"] for r in served.gateway.requests if r.path.endswith("/messages")]
    assert sent == ["one"]


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_out_of_time_is_exit_code_1_after_the_message_was_sent_and_3_before(
    run_cli: RunCli, connected: Connected, json_option: list[str]
) -> None:
    connected(replies=says({"delay_ms": 60_000}))
    assert run_cli("ask", *json_option, "--timeout-ms", "300", "hi").exit_code == 1
    for place in ("create", "events"):
        connected(**{place: {"delay_ms": 60_000}})
        assert run_cli("ask", *json_option, "--timeout-ms", "300", "hi").exit_code == 3


def test_the_help_says_which_exit_code_a_time_limit_gives(run_cli: RunCli) -> None:
    told = " ".join(run_cli("ask", "--help").stdout.split())
    assert "the time limit ran out after the message was sent 2 " in told
    assert "the time limit ran out before the message was sent 130 " in told


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_refused_token_an_unknown_agent_and_a_dead_gateway_are_exit_code_3(
    run_cli: RunCli, connected: Connected, json_option: list[str]
) -> None:
    connected(token="owl_pat_another", agents=["someone-else"])
    assert run_cli("ask", *json_option, "hi").exit_code == 3
    connected(agents=["someone-else"])
    assert run_cli("ask", *json_option, "hi").exit_code == 3
    dead = ["--gateway", "http://127.0.0.1:9"]
    assert run_cli("ask", *json_option, *dead, "hi").exit_code == 3


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_missing_agent_token_or_file_is_exit_code_2(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, json_option: list[str]
) -> None:
    assert run_cli("ask", *json_option, "hi").exit_code == 2
    assert run_cli("ask", *json_option, "--agent", "a", "hi").exit_code == 2
    assert (
        run_cli("ask", *json_option, "--agent", "a", "--gateway", "script:x", "hi").exit_code == 2
    )
    monkeypatch.setenv("LOBU_TOKEN", "Bearer abcdef")
    assert run_cli("ask", *json_option, "--agent", "a", "hi").exit_code == 2


@pytest.mark.parametrize(
    ("option", "variable", "value"),
    [("--gateway", "LOBU_GATEWAY", "localhost"), ("--org", "LOBU_ORG", "\u00fc")],
)
def test_a_config_fault_names_where_the_value_came_from(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, option: str, variable: str, value: str
) -> None:
    given = run_cli("ask", "--agent", "a", option, value, "hi")
    assert f"(Here: the option {option}.)" in given.stderr
    monkeypatch.setenv(variable, value)
    from_variable = run_cli("ask", "--agent", "a", "hi")
    assert (given.exit_code, from_variable.exit_code) == (2, 2)
    assert variable in from_variable.stderr
    assert option not in from_variable.stderr
    again = run_cli("ask", "--agent", "a", option, value, "hi")
    assert f"(Here: the option {option}.)" in again.stderr


def test_a_line_of_the_answer_is_ended_before_a_tool_call_or_card_is_told(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(
        replies=says(
            {"text": "Let me look.", "deltas": 1},
            {"tool": {"name": "look"}},
            {"text": "Found it.", "deltas": 1},
            {"card": {"type": "question", "question": "Which?", "options": ["a"]}},
            {"complete": {"finalText": "Let me look.Found it."}},
        )
    )
    result = run_cli("ask", "hi")
    assert (result.exit_code, result.stdout) == (0, "Let me look.\nFound it.\n")


def test_a_config_fault_names_the_option_of_the_command_line(run_cli: RunCli) -> None:
    result = run_cli("ask", "hi")
    assert "LOBU_AGENT" in result.stderr
    assert "--agent" in result.stderr
    assert result.stdout == ""
    assert run_cli("ask", *DEMO, "--timeout-ms", "-1", "hi").exit_code == 2
    assert run_cli("ask", *DEMO, "--timeout-ms", "nan", "hi").exit_code == 2


def test_no_token_is_ever_printed_also_when_the_agent_repeats_it_in_pieces(
    run_cli: RunCli, connected: Connected
) -> None:
    pieces = ["Your token is c", CANARY[1:9], CANARY[9:], " I think"]
    steps = (
        {"tool": {"name": "echo", "input": {"token": CANARY}}},
        {"text": "".join(pieces), "deltas": pieces},
    )
    connected(replies=says(*steps))
    for arguments in (["hi"], ["--json", "hi"]):
        result = run_cli("ask", *arguments)
        assert result.exit_code == 0
        assert "Your token is *** I think" in result.output
        assert "canary" not in result.output


def test_an_error_text_with_the_token_is_printed_without_it(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(replies=says({"error": f"400 bad header: {CANARY}"}))
    in_turn = run_cli("ask", "hi")
    connected(create={"status": 500, "body": {"error": f"bad header: {CANARY}"}})
    at_start = run_cli("ask", "hi")
    assert (in_turn.exit_code, at_start.exit_code) == (1, 3)
    assert "bad header: ***" in in_turn.stderr
    assert "bad header: ***" in at_start.stderr
    assert "canary" not in in_turn.output + at_start.output


def test_what_could_drive_a_terminal_is_written_out_on_stderr(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(replies=says({"error": "400 \x1b[2J wiped"}))
    assert "\\x1b[2J wiped" in run_cli("ask", "hi").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_an_answer_cannot_drive_the_terminal_and_reaches_a_file_as_it_is(
    run_cli: RunCli, connected: Connected
) -> None:
    answer = "\x1b]0;owned\x07 it is \u00fc\x9b31m"
    connected(replies=says({"text": answer, "deltas": [answer[:1], answer[1:]]}))
    assert run_cli("ask", "hi").stdout == f"{answer}\n"
    ours, theirs = os.openpty()
    with open(ours, "rb") as terminal:
        try:
            command = [sys.executable, "-X", "utf8", "-m", "lobu_provider", "ask", "hi"]
            done = subprocess.run(command, stdout=theirs, check=False)
            # Before its other end is closed, which would throw away what is not read yet.
            shown = terminal.raw.read(1000).decode()
        finally:
            os.close(theirs)
    assert (done.returncode, shown) == (0, "\\x1b]0;owned\\x07 it is \u00fc\\x9b31m\r\n")


def test_the_answer_is_printed_while_the_turn_still_runs(
    start_cli: StartCli, connected: Connected
) -> None:
    served = connected(
        replies=says({"text": "first line\n", "deltas": 1}, {"delay_ms": 60_000}, {"text": "end"})
    )
    asking = start_cli("ask", "hi")
    assert asking.stdout.wait_for("first line") == "first line"
    assert asking.process.poll() is None
    assert len(served.gateway.sessions) == 1


def test_a_session_that_could_not_be_deleted_is_a_warning(
    run_cli: RunCli, connected: Connected
) -> None:
    connected(replies=says({"text": "Hi."}), delete={"status": 500})
    result = run_cli("ask", "hi")
    assert (result.exit_code, result.stdout) == (0, "Hi.\n")
    assert result.stderr.startswith("warning: The session was left at the gateway")


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe has another error there")
def test_the_session_is_deleted_when_nobody_reads_the_answer_any_more(
    connected: Connected,
) -> None:
    lines = [f"line {number}\n" for number in range(3000)]
    served = connected(replies=says({"text": "".join(lines), "deltas": lines, "delay_ms": 10}))
    with subprocess.Popen(
        [sys.executable, "-m", "lobu_provider", "ask", "hi"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as asking:
        assert asking.stdout is not None
        assert asking.stderr is not None
        assert asking.stdout.readline() == b"line 0\n"
        asking.stdout.close()
        assert b"Traceback" not in asking.stderr.read()
    assert asking.returncode == 1
    assert served.gateway.sessions == {}


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to one child process")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_signal_deletes_the_session_and_keeps_what_arrived(
    start_cli: StartCli,
    connected: Connected,
    number: signal.Signals,
    code: int,
    json_option: list[str],
) -> None:
    served = connected(
        replies=says(
            {"text": "begun\n", "deltas": 1}, {"tool": {"name": "t"}}, {"delay_ms": 60_000}
        )
    )
    asking = start_cli("ask", *json_option, "hi")
    if json_option:
        served.wait_for_message()
    else:
        asking.stderr.wait_for("tool: t")
    asking.process.send_signal(number)
    assert asking.end() == code
    assert served.gateway.sessions == {}
    assert [r.method for r in served.gateway.requests][-1] == "DELETE"
    if json_option:
        assert json.loads(asking.stdout.text)["metadata"]["error"]["code"] == "cancelled"
        assert asking.stderr.text == ""
    else:
        assert asking.stdout.text == "begun\n"
        assert asking.stderr.text.endswith("Interrupted.\n")
