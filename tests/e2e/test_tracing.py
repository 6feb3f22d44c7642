"""promptfoo's own trajectory and trace assertions over our spans, through both doors."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import ROOT, Promptfoo, Run, provider
from tests.e2e.test_promptfoo_package import PACKAGE, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

TURNS = ["I want to return order 17.", "Yes, please refund it."]
SCRIPT: dict[str, Any] = {
    "version": 1,
    "replies": [
        {
            "match": "return",
            "steps": [
                {"tool": {"name": "lookup_order", "input": {"order_id": 17}}},
                {"text": "Shall I refund order 17?"},
            ],
        },
        {
            "match": "please",
            "steps": [
                {"tool": {"name": "refund_order", "input": {"order_id": 17, "note": "n" * 900}}},
                {
                    "tool": {
                        "name": "send_mail",
                        "input": {"to": "customer"},
                        "isError": False,
                        "result_summary": {"error": "no mail server"},
                    }
                },
                {"text": "Done."},
            ],
        },
        {"steps": [{"text": "heard: {{message}}"}]},
    ],
}

USED = {"type": "trajectory:tool-used", "value": "refund_order"}
NOT_USED = {"type": "not-trajectory:tool-used", "value": "delete_account"}

RIGHT: dict[str, dict[str, Any]] = {
    "tool-used": USED,
    "all used": {"type": "trajectory:tool-used", "value": ["lookup_order", "refund_order"]},
    "used once": {
        "type": "trajectory:tool-used",
        "value": {"pattern": "*_order", "min": 2, "max": 2},
    },
    "not used": NOT_USED,
    "args": {
        "type": "trajectory:tool-args-match",
        "value": {"name": "refund_order", "args": {"order_id": 17}},
    },
    "exact args": {
        "type": "trajectory:tool-args-match",
        "value": {"name": "lookup_order", "args": {"order_id": 17}, "mode": "exact"},
    },
    "long args": {
        "type": "trajectory:tool-args-match",
        "value": {"name": "refund_order", "args": {"note": "n" * 900}},
    },
    "not args": {
        "type": "not-trajectory:tool-args-match",
        "value": {"name": "refund_order", "args": {"order_id": 18}},
    },
    "exact sequence": {
        "type": "trajectory:tool-sequence",
        "value": {"mode": "exact", "steps": ["lookup_order", "refund_order", "send_mail"]},
    },
    "sequence": {"type": "trajectory:tool-sequence", "value": ["lookup_order", "send_mail"]},
    "step count": {
        "type": "trajectory:step-count",
        "value": {"type": "tool", "min": 3, "max": 3},
    },
    "error spans": {"type": "trace-error-spans", "value": {"max_count": 1}},
    "turns": {"type": "trace-span-count", "value": {"pattern": "turn *", "min": 2, "max": 2}},
    "conversation": {
        "type": "trace-span-count",
        "value": {"pattern": "invoke_agent support-agent", "min": 1, "max": 1},
    },
    "in a set": {"type": "assert-set", "assert": [USED, NOT_USED]},
    "duration": {"type": "trace-span-duration", "value": {"pattern": "turn 2", "max": 60_000}},
}
WRONG: dict[str, dict[str, Any]] = {
    "tool-used": {"type": "trajectory:tool-used", "value": "delete_account"},
    "used twice": {
        "type": "trajectory:tool-used",
        "value": {"name": "refund_order", "min": 2},
    },
    "not used": {"type": "not-trajectory:tool-used", "value": "refund_order"},
    "args": {
        "type": "trajectory:tool-args-match",
        "value": {"name": "refund_order", "args": {"order_id": 18}},
    },
    "sequence": {
        "type": "trajectory:tool-sequence",
        "value": ["refund_order", "lookup_order"],
    },
    "step count": {"type": "trajectory:step-count", "value": {"type": "tool", "max": 2}},
    "error spans": {"type": "trace-error-spans", "value": {"max_count": 0}},
    "turns": {"type": "trace-span-count", "value": {"pattern": "turn *", "min": 3}},
}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Door:
    """A promptfoo, and how its configs reach our provider and we its traces."""

    def __init__(self, name: str, promptfoo: Promptfoo, port: int) -> None:
        self.promptfoo = promptfoo
        self._port = port
        self._by_hook = name == "hook"
        if not self._by_hook:
            install(promptfoo.folder)
            promptfoo.environment["LOBU_PYTHON"] = sys.executable
        (promptfoo.folder / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")

    def eval(self, tests: list[dict[str, Any]], *more: str, **config: Any) -> Run:
        tracing: dict[str, Any] = {"enabled": True}
        if self._by_hook:
            tracing["otlp"] = {"http": {"enabled": True, "port": self._port}}
            config["otlpEndpoint"] = f"http://127.0.0.1:{self._port}"
        return self.eval_with(tests, *more, tracing=tracing, **config)

    def eval_with(
        self,
        tests: list[dict[str, Any]],
        *more: str,
        tracing: dict[str, Any],
        default_test: dict[str, Any] | None = None,
        **config: Any,
    ) -> Run:
        entry = provider("script:script.json", **config)
        if not self._by_hook:
            entry["id"] = PACKAGE
        return self.promptfoo.eval(
            {
                "prompts": ["{{query}}"],
                "providers": [entry],
                "defaultTest": {"vars": {"transcript": [TURNS]}, **(default_test or {})},
                "tests": tests,
                "tracing": tracing,
            },
            *more,
        )


@pytest.fixture(params=["hook", "package"])
def door(request: pytest.FixtureRequest, promptfoo: Promptfoo) -> Door:
    return Door(request.param, promptfoo, free_port())


@pytest.fixture
def hook(promptfoo: Promptfoo) -> Door:
    return Door("hook", promptfoo, free_port())


def rows_of(run: Run) -> dict[str, dict[str, Any]]:
    return {row["testCase"]["description"]: row for row in run.rows}


def test_the_assertions_pass_and_fail_rightly_on_two_turns(door: Door) -> None:
    tests = [
        {"description": f"{verdict}: {name}", "assert": [assertion]}
        for verdict, named in (("pass", RIGHT), ("fail", WRONG))
        for name, assertion in named.items()
    ]
    run = door.eval(tests, "-j", "4")
    rows = rows_of(run)
    assert len(rows) == len(RIGHT) + len(WRONG)
    told = {
        name: (row["success"], (row["gradingResult"] or {}).get("reason"), row.get("error"))
        for name, row in rows.items()
    }
    wrong = {name: why for name, why in told.items() if why[0] is not name.startswith("pass")}
    assert wrong == {}
    for row in run.rows:
        assert row["gradingResult"] is not None, row["error"]  # judged, and no error
        assert row["response"]["metadata"]["warnings"] == [
            "The prompt was not sent: vars.transcript takes its place."
        ] or not row["response"]["metadata"]["warnings"]
        assert "lobuSpans" not in row["response"]
