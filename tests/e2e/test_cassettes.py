"""Cassettes under the real promptfoo: recorded over a socket, replayed with nobody there."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cassettes.equal_rows import comparable, shown
from tests.conftest import free_port
from tests.e2e.conftest import CANARY, HOOK, ROOT, Promptfoo, Run, Served, provider
from tests.e2e.test_promptfoo_package import PACKAGE, install, rows_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

EXTENSION = HOOK.parent / "lobu_extension.py"
NOT_DELETED = {
    "type": "python",
    "value": f"file://{HOOK.parent / 'lobu_assertions.py'}:toolNotCalled",
    "config": {"tool": "delete_account"},
}


def config_of(tests: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Both doors, each with a set of its own, and the hook around the run."""
    ours = {"agent": "support-agent", "cassettes": "cassettes"}
    return {
        "prompts": ["{{query}}"],
        "providers": [
            {"id": f"file://{HOOK}", "label": "python", "config": {**ours, "cassetteSet": "py"}},
            {"id": PACKAGE, "label": "npm", "config": {**ours, "cassetteSet": "npm"}},
        ],
        "tests": tests,
        "extensions": [f"file://{EXTENSION}:{name}" for name in ("beforeAll", "afterAll")],
    }


def rows(run: Run) -> list[Any]:
    """What promptfoo keeps of each row that does not differ from one run to the next."""
    kept = []
    for row in run.rows:
        response = dict(row["response"])
        response.pop("cached", None)
        found = {"success": row["success"], "label": row["provider"]["label"], **response}
        kept.append(comparable(found, without=["commit", "gatewaySessionId"]))
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


TESTS: list[Mapping[str, Any]] = [
    {
        "description": f"Case {number}",
        "vars": {"query": f"message {number}"},
        "assert": [
            {"type": "contains", "value": f"heard: message {number}"},
            NOT_DELETED,
            {"type": "latency", "threshold": 60_000},
        ],
    }
    for number in range(3)
]


def test_a_run_is_recorded_and_replays_without_gateway_token_or_wait_through_both_doors(
    promptfoo: Promptfoo, served: Served
) -> None:
    install(promptfoo.folder)
    promptfoo.environment["LOBU_PYTHON"] = sys.executable
    tests = [
        *TESTS,
        {
            "description": "A conversation",
            "vars": {"transcript": ["one", "a second"]},
            "options": {"disableVarExpansion": True},
            "assert": [{"type": "equals", "value": "done"}],
        },
    ]
    config = promptfoo.write(config_of(tests))
    live = promptfoo.eval(
        config,
        "--repeat",
        "2",
        LOBU_CASSETTE_MODE="record",
        LOBU_GATEWAY=served.url,
        LOBU_TOKEN=CANARY,
    )
    assert live.exit_code == 0, live.log
    files = sorted((promptfoo.folder / "cassettes").rglob("*.jsonl"))
    assert len(files) == 2 * 2 * len(tests)
    assert all(CANARY not in path.read_text("utf-8") for path in files)
    asked = len(served.gateway.requests)
    replayed = promptfoo.eval(
        config,
        "--repeat",
        "2",
        LOBU_CASSETTE_MODE="replay",
        LOBU_GATEWAY=f"http://127.0.0.1:{free_port()}",
    )
    assert replayed.exit_code == 0, replayed.log
    assert len(served.gateway.requests) == asked
    assert shown(rows(replayed)) == shown(rows(live))
    modes = {row["response"]["metadata"]["cassette"]["mode"] for row in replayed.rows}
    assert modes == {"replayed"}
    longest = [row["latencyMs"] for row in replayed.rows if row["response"]["output"] == "done"]
    assert min(longest) >= 1000, "promptfoo is told the recorded time"


def test_a_row_without_a_cassette_is_an_error_and_no_pass(promptfoo: Promptfoo) -> None:
    config = config_of(TESTS[:1])
    del config["providers"][1:]
    run = promptfoo.eval(config, LOBU_CASSETTE_MODE="replay")
    assert run.exit_code == 100
    (row,) = run.rows
    assert "[cassette] There is no cassette cassettes/py/case-0-" in str(row["error"])
    assert "LOBU_CASSETTE_MODE=record" in str(row["error"])
    assert Path(promptfoo.folder / "cassettes").exists() is False


@pytest.mark.parametrize("door", ["hook", "npm"])
def test_the_example_is_recorded_and_replays_to_the_same_verdicts(
    promptfoo: Promptfoo, door: str
) -> None:
    example = ROOT / "examples"
    shutil.copy(example / "grader.py", promptfoo.folder)
    text = (example / "promptfooconfig.yaml").read_text(encoding="utf-8")
    config = yaml.safe_load(text.replace("file://../", f"file://{ROOT}/"))
    (entry,) = config["providers"]
    endpoint = entry["config"]["otlpEndpoint"]
    entry.update(provider("script:demo", otlpEndpoint=endpoint))
    if door == "npm":
        install(promptfoo.folder)
        entry.update(id=PACKAGE, config={"agent": "support-agent", "gateway": "script:demo"})
    variables = {"LOBU_CASSETTES": "kept", "LOBU_PYTHON": sys.executable}
    live = promptfoo.eval(config, LOBU_CASSETTE_MODE="record", **variables)
    assert live.exit_code == 0, live.log
    assert len(list((promptfoo.folder / "kept").rglob("*.jsonl"))) == len(live.rows)
    # Nothing is there any more: whoever asked it would be refused.
    entry["config"]["gateway"] = f"http://127.0.0.1:{free_port()}"
    replayed = promptfoo.eval(config, LOBU_CASSETTE_MODE="replay", **variables)
    assert replayed.exit_code == 0, replayed.log
    assert shown(comparable(rows_of(replayed))) == shown(comparable(rows_of(live)))
