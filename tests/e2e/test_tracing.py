"""promptfoo's own trajectory and trace assertions over our spans, through both doors."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import yaml

from tests.conftest import free_port
from tests.e2e.conftest import HOOK, ROOT, Promptfoo, Run, provider
from tests.e2e.simulated_user import user_who_says
from tests.e2e.test_promptfoo_package import PACKAGE, install
from tests.spans.conftest import listening

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
        return self.eval_with(tests, *more, promptfoo_tracing=tracing, **config)

    def eval_with(
        self,
        tests: list[dict[str, Any]],
        *more: str,
        promptfoo_tracing: dict[str, Any],
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
                "tracing": promptfoo_tracing,
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
    with listening() as backend:
        run = door.eval(tests, "-j", "4", otlpBackend=backend.url)
    rows = rows_of(run)
    calls = [span for span in backend.spans if span["name"].startswith("invoke_agent")]
    assert len(calls) == len({span["traceId"] for span in calls}) == len(tests)
    assert len(rows) == len(RIGHT) + len(WRONG)
    told = {
        name: (row["success"], (row["gradingResult"] or {}).get("reason"), row.get("error"))
        for name, row in rows.items()
    }
    wrong = {name: why for name, why in told.items() if why[0] is not name.startswith("pass")}
    assert wrong == {}
    for row in run.rows:
        assert row["gradingResult"] is not None, row["error"]  # judged, and no error
        assert (
            row["response"]["metadata"]["warnings"]
            == ["The prompt was not sent: vars.transcript takes its place."]
            or not row["response"]["metadata"]["warnings"]
        )
        assert "lobuSpans" not in row["response"]


class OtherProgram:
    """Another program on promptfoo's port, which takes whatever is posted to it."""

    def __init__(self, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.do_GET()

            def do_GET(self) -> None:
                body = b'{"partialSuccess": {}}'
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


SPANLESS = [
    {"description": "asserts on spans", "assert": [NOT_USED]},
    {"description": "in a set", "assert": [{"type": "assert-set", "assert": [NOT_USED]}]},
    {"description": "asserts on the answer", "assert": [{"type": "contains", "value": "Done"}]},
]


def test_without_a_receiver_a_test_that_needs_spans_is_an_error_and_others_get_a_warning(
    hook: Door,
) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    run = hook.eval_with(SPANLESS, promptfoo_tracing={"enabled": True}, otlpEndpoint=endpoint)
    rows = rows_of(run)
    for name in ("asserts on spans", "in a set"):
        assert not rows[name]["success"]
        assert rows[name]["error"].startswith("[config] The spans of this conversation were not")
        assert "not-trajectory:tool-used" in rows[name]["error"]
        assert rows[name]["response"]["output"] == "Done."
    assert rows["asserts on the answer"]["success"]
    (warning,) = [
        text
        for text in rows["asserts on the answer"]["response"]["metadata"]["warnings"]
        if "spans" in text
    ]
    assert endpoint in warning


def test_a_port_of_another_program_is_an_error_row_also_where_the_default_test_asserts(
    hook: Door,
) -> None:
    port = free_port()
    other = OtherProgram(port)
    try:
        run = hook.eval_with(
            SPANLESS[2:],
            default_test={"assert": [NOT_USED]},
            promptfoo_tracing={"enabled": True, "otlp": {"http": {"enabled": True, "port": port}}},
            otlpEndpoint=f"http://127.0.0.1:{port}/v1/traces",
        )
    finally:
        other.close()
    assert "not promptfoo's receiver" in run.rows[0]["error"]


def test_tracing_off_is_an_error_row_where_spans_are_asserted_on(door: Door) -> None:
    rows = rows_of(door.eval(SPANLESS[1:], tracing="off"))
    assert "config.tracing is 'off'" in rows["in a set"]["error"]
    assert rows["in a set"]["response"]["metadata"]["turns"] == []
    assert rows["asserts on the answer"]["success"]


def test_the_turns_of_a_simulated_user_are_judged_together(
    door: Door,
) -> None:
    user = {
        "id": "promptfoo:simulated-user",
        "config": {"maxTurns": 4, "stateful": True},
    }
    names = ("exact sequence", "not used", "step count", "turns", "args")
    tests = [
        {
            "description": f"{verdict}: {name}",
            "vars": {"query": "Be kind.", "instructions": "You want a refund.", "transcript": None},
            "metadata": {"conversationId": f"{verdict}-{name}"},
            "provider": user,
            "assert": [named[name]],
        }
        for verdict, named, chosen in (
            ("pass", RIGHT, names),
            ("fail", WRONG, ("not used", "sequence")),
        )
        for name in chosen
    ]
    with user_who_says(door.promptfoo, TURNS):
        rows = rows_of(door.eval(tests))
    told = {
        name: (row["success"], row.get("error"), row["response"].get("output"))
        for name, row in rows.items()
    }
    wrong = {name: why for name, why in told.items() if why[0] is not name.startswith("pass")}
    assert wrong == {}
    assert all(row["gradingResult"] is not None for row in rows.values())


def test_the_config_of_the_document_runs(promptfoo: Promptfoo) -> None:
    text = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
    config = yaml.safe_load(text.partition("```yaml\n")[2].partition("```")[0])
    port = free_port()
    config["tracing"]["otlp"]["http"]["port"] = port
    config["providers"][0]["config"]["otlpEndpoint"] = f"http://127.0.0.1:{port}"
    run = promptfoo.eval(config, LOBU_PROVIDER_HOOK=str(HOOK))
    assert run.exit_code == 0, run.log
    assert len(run.rows[0]["gradingResult"]["componentResults"]) == 9
