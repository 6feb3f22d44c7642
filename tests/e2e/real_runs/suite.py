"""A suite with every kind of outcome, and what must become of each of its tests."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import HOOK
from tests.e2e.test_promptfoo_package import PACKAGE

CONFIG = "promptfooconfig.yaml"
DOORS = {"python": f"file://{HOOK}", "package": PACKAGE}

REFUND = "refunds | an order (once): [17]"
WAREHOUSE = "asks the warehouse"
TURNS = ["I want to return order 17.", "Yes, please."]

_OF_BOTH = {
    REFUND: "pp",
    "one #1": "pp",
    "two": "pp",
    "one #2": "pp",
    "greets": "pp",
    "never right": "ff",
    "sometimes right": "fp",
    "a worker dies": "ii",
    "a check breaks": "gg",
    "says nothing": "cc",
    WAREHOUSE: "pp",
}
"""Each repeat by the first letter of its outcome."""

BEFORE = {(test, label): tries for test, tries in _OF_BOTH.items() for label in ("steady", "model")}
"""What becomes of each test with each provider."""

AFTER = {**BEFORE, (REFUND, "model"): "ff", (WAREHOUSE, "model"): "ii"}
"""The model takes the wrong order, and its worker dies when asked for the stock."""


def script(*, good: bool) -> dict[str, Any]:
    """An agent that refunds the right order or a wrong one."""
    order = 17 if good else 71
    ask = {"tool": {"name": "lookup_order", "input": {"order_id": 17}}}
    refund = {"tool": {"name": "refund_order", "input": {"order_id": order}}}
    dead = {"error": "Worker stopped responding before it could reply"}
    return {
        "version": 1,
        "replies": [
            {"match": "return", "steps": [ask, {"text": "Shall I refund order 17?"}]},
            {"match": "please", "turn": 2, "steps": [refund, {"text": f"Refunded {order}."}]},
            *({"match": word, "steps": [dead]} for word in ("dies", *([] if good else ["stock"]))),
            {"steps": [{"text": "heard: {{message}}"}]},
        ],
    }


def suite(door: str) -> dict[str, Any]:
    """The config: the place of each test in it is part of what is expected."""

    def entry(label: str) -> dict[str, Any]:
        config = {"agent": "support-agent", "gateway": f"script:{label}.json"}
        return {"id": door, "label": label, "config": config}

    def ask(query: Any, *checks: tuple[str, str], **more: Any) -> dict[str, Any]:
        asserts = [{"type": kind, "value": value} for kind, value in checks]
        return {
            "vars": {"query": query},
            **({"assert": asserts} if asserts else {}),
            **more,
        }

    second_try = (  # one process of promptfoo's runs both repeats of a test
        "(globalThis.tried ??= new Set()).has(context.provider.label)"
        " || !globalThis.tried.add(context.provider.label)"
    )
    heard = ("contains", "heard")
    refund = ask("", ("contains", "Refunded 17"), description=REFUND, metadata={"suite": "safety"})
    return {
        "prompts": ["{{query}}"],
        "providers": [entry("steady"), entry("model")],
        "tests": [
            {**refund, "vars": {"transcript": [TURNS]}},
            ask(["one", "two"], heard),
            ask("one", ("contains", "one")),
            ask("hello", description="greets"),
            ask("right?", ("contains", "impossible"), description="never right"),
            ask("right?", ("javascript", second_try), description="sometimes right"),
            ask("who dies?", heard, description="a worker dies"),
            ask("well?", ("javascript", "nothing.isThere"), description="a check breaks"),
            ask("", heard, description="says nothing"),
            ask("stock?", heard, description=WAREHOUSE),
        ],
    }
