"""The Python hook under the real promptfoo, in both supported versions."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import CANARY, ROOT, TURNS, Promptfoo, Served, provider, started

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]


def config_of(entry: dict[str, Any], *tests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"prompts": ["{{query}}"], "providers": [entry], "tests": list(tests), **more}


def test_the_example_passes_offline_with_the_documented_metadata(
    promptfoo: Promptfoo,
) -> None:
    run = promptfoo.eval(ROOT / "examples" / "promptfooconfig.yaml")
    assert run.exit_code == 0, run.log
    rows = {row["testCase"]["description"]: row for row in run.rows}
    assert len(rows) == 6
    refund = rows["looks an order up, then refunds it once the customer says yes"]["response"]
    metadata = refund["metadata"]
    assert refund["sessionId"] == metadata["sessionId"] == metadata["thread"]
    assert [(c["turn"], c["name"], c["isError"]) for c in metadata["toolCalls"]] == [
        (1, "lookup_order", False),
        (2, "refund_order", False),
    ]
    assert metadata["toolCalls"][1]["input"]["order_id"] == 17
    assert [turn["turn"] for turn in metadata["turns"]] == [1, 2]
    assert [m["role"] for m in json.loads(metadata["messages"])] == ["user", "assistant"] * 2
    assert "tokenUsage" not in refund or not refund["tokenUsage"].get("total")
    policy = rows["answers a refund question from what it has looked up"]["response"]["metadata"]
    assert policy["retrievedContext"] == "\n\n".join(policy["retrievedSnippets"])
    asked = rows["asks which order is meant, and waits for the answer"]["response"]["metadata"]
    assert asked["interactions"][0]["type"] == "question"


def test_a_wrong_expectation_gives_exit_code_100(promptfoo: Promptfoo) -> None:
    wrong = {"vars": {"query": "hello"}, "assert": [{"type": "equals", "value": "nothing"}]}
    run = promptfoo.eval(config_of(provider("script:demo"), wrong))
    assert run.exit_code == 100
    assert run.rows[0]["success"] is False


def test_a_transcript_with_expansion_off_is_one_test_of_two_turns(
    promptfoo: Promptfoo, served: Served
) -> None:
    test = {"vars": {"transcript": TURNS}, "options": {"disableVarExpansion": True}}
    run = promptfoo.eval(config_of(provider(served.url), test), LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    assert len(run.rows) == 1
    assert [turn["user"] for turn in run.metadata()["turns"]] == TURNS
    assert run.rows[0]["response"]["output"] == f"heard: {TURNS[1]}"
    assert not served.gateway.sessions


def test_a_split_transcript_is_an_error_in_every_row_and_the_gateway_sees_nothing(
    promptfoo: Promptfoo, served: Served
) -> None:
    run = promptfoo.eval(
        config_of(provider(served.url), {"vars": {"transcript": TURNS}}), LOBU_TOKEN=CANARY
    )
    assert run.exit_code == 100
    assert len(run.rows) == 2
    for row in run.rows:
        assert "disableVarExpansion" in row["error"]
        assert row["response"]["metadata"]["error"]["class"] == "config"
    assert served.gateway.requests == []


def test_every_shape_of_a_transcript_arrives_as_the_same_turns(
    promptfoo: Promptfoo, served: Served
) -> None:
    (promptfoo.folder / "turns.yaml").write_text(yaml.safe_dump(["a", "b"]))
    (promptfoo.folder / "pairs.yaml").write_text(
        yaml.safe_dump([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    )
    shapes: list[Any] = [
        [["a", "b"]],
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [{"user": "a"}, {"user": "b"}],
        '["a", "b"]',
        "file://turns.yaml",
        "file://pairs.yaml",
    ]
    tests = [{"vars": {"transcript": shape}} for shape in shapes]
    run = promptfoo.eval(config_of(provider(served.url), *tests), LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    assert len(run.rows) == len(shapes)
    for index in range(len(shapes)):
        assert [turn["user"] for turn in run.metadata(index)["turns"]] == ["a", "b"]


def test_turns_are_rendered_only_when_asked(promptfoo: Promptfoo, served: Served) -> None:
    test = {"vars": {"transcript": [["hi {{name}}"]], "name": "Bob"}}
    plain = promptfoo.eval(config_of(provider(served.url), test), LOBU_TOKEN=CANARY)
    assert plain.rows[0]["response"]["output"] == "heard: hi {{name}}"
    rendered = promptfoo.eval(
        config_of(provider(served.url, renderTurns=True), test), LOBU_TOKEN=CANARY
    )
    assert rendered.rows[0]["response"]["output"] == "heard: hi Bob"


def test_tests_of_one_conversation_share_a_thread_when_the_prompt_names_it(
    promptfoo: Promptfoo, served: Served
) -> None:
    tests = [
        {"vars": {"query": text}, "metadata": {"conversationId": "c1"}} for text in ("one", "two")
    ]
    run = promptfoo.eval(
        config_of(
            provider(served.url), *tests, prompts=["{{query}}{% if _conversation %}{% endif %}"]
        ),
        "--repeat",
        "2",
        LOBU_TOKEN=CANARY,
    )
    assert run.exit_code == 0, run.log
    threads: dict[int, set[str]] = {}
    for row in run.rows:
        metadata = row["response"]["metadata"]
        threads.setdefault(metadata["run"]["repeatIndex"], set()).add(metadata["thread"])
    assert [len(used) for used in threads.values()] == [1, 1]
    assert threads[0].isdisjoint(threads[1])
    assert len(served.gateway.sessions) == 2  # kept: the conversation goes on


def test_tests_without_an_id_share_a_thread_when_the_prompt_names_it_and_are_told(
    promptfoo: Promptfoo, served: Served
) -> None:
    tests = [{"vars": {"query": text}} for text in ("one", "two")]
    prompts = ["{{query}}{% if _conversation %}{% endif %}"]
    run = promptfoo.eval(
        config_of(provider(served.url), *tests, prompts=prompts), LOBU_TOKEN=CANARY
    )
    first, second = (row["response"]["metadata"] for row in run.rows)
    assert first["thread"] == second["thread"]
    assert first["warnings"] == []
    assert any("no metadata.conversationId" in told for told in second["warnings"])


def test_an_error_is_one_call_one_row_and_says_what_it_is(promptfoo: Promptfoo) -> None:
    test = {"vars": {"query": "hello"}, "assert": [{"type": "contains", "value": ""}]}
    run = promptfoo.eval(config_of(provider("http://127.0.0.1:9"), test), LOBU_TOKEN=CANARY)
    assert run.exit_code == 100
    assert len(run.rows) == 1
    assert run.rows[0]["error"].startswith("[gateway] Cannot reach the gateway")
    assert run.metadata()["error"] == {
        "code": "gateway",
        "class": "infrastructure",
        "phase": "create",
        "retryable": True,
    }


def test_the_token_is_in_nothing_that_promptfoo_writes(
    promptfoo: Promptfoo, served: Served
) -> None:
    promptfoo.eval(config_of(provider(served.url), {"vars": {"query": "hi"}}), LOBU_TOKEN=CANARY)
    written = [path for path in promptfoo.folder.rglob("*") if path.is_file()]
    assert any(path.name == "promptfoo.db" for path in written)
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []


def test_ctrl_c_pauses_promptfoo_and_deletes_the_session(
    promptfoo: Promptfoo, served: Served
) -> None:
    config = config_of(provider(served.url), {"vars": {"query": "slow please"}})
    with started(promptfoo, config) as process:
        assert served.gateway.got_message.wait(60)
        os.killpg(process.pid, signal.SIGINT)
        log, _ = process.communicate(timeout=60)
    assert "paused" in log
    assert process.returncode == 0
    assert not served.gateway.sessions


def test_a_hang_ends_by_its_limit_and_the_next_test_is_not_touched(
    promptfoo: Promptfoo, served: Served
) -> None:
    tests = [{"vars": {"query": query}} for query in ("slow please", "hi")]
    entry = provider(served.url, timeoutMs=2000)
    run = promptfoo.eval(config_of(entry, *tests), "-j", "1", LOBU_TOKEN=CANARY)
    rows = {row["vars"]["query"]: row for row in run.rows}
    assert rows["slow please"]["error"].startswith("[timeout] The time limit of the call ran out")
    assert rows["hi"]["success"], run.log
    assert not served.gateway.sessions


def test_a_missing_package_is_an_error_in_every_row_and_says_what_to_run(
    promptfoo: Promptfoo,
) -> None:
    python = promptfoo.folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')  # no site-packages
    python.chmod(0o755)
    # A worker that ended, or an import that failed outside of our hands, costs two minutes a row.
    tests = [{"vars": {"query": query}} for query in ("hi", "ho")]
    run = promptfoo.eval(config_of(provider("script:demo"), *tests), PROMPTFOO_PYTHON=str(python))
    assert run.exit_code == 100
    assert len(run.rows) == 2
    for row in run.rows:
        assert row["error"].startswith("[config] lobu-provider could not run: ModuleNotFoundError")
        assert f"{sys.executable} -m pip install lobu-provider" in row["error"]
