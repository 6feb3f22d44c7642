"""What becomes of a call as spans, by the configuration, the test and what promptfoo passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider import LobuProvider
from lobu_provider.promptfoo.tracing import SPANS_KEY
from lobu_provider.spans.arguments import MAX_ARGUMENTS
from tests.spans.conftest import Receiver
from tests.spans.conftest import receiver as receiver  # a fixture

pytestmark = pytest.mark.anyio

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
NOBODY = "http://127.0.0.1:9/v1/traces"
NO_ADDRESS = "http://999.1.1.1:4318/v1/traces"
ASSERTION = {"type": "not-trajectory:tool-used", "value": "delete_account"}
BY_ARGUMENTS = {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {}}}


@pytest.fixture(autouse=True)
def time_to_deliver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans that are looked at here have arrived, however slow the machine is."""
    monkeypatch.setattr("lobu_provider.promptfoo.tracing.LIMIT_S", 10.0)


async def call(
    *assertions: Any,
    prompt: str = "How do refunds work?",
    traceparent: Any = TRACEPARENT,
    in_response: bool = False,
    gateway: str = "script:demo",
    **config: Any,
) -> dict[str, Any]:
    options = {"config": {"agent": "support-agent", "gateway": gateway, **config}}
    context = {"vars": {}, "test": {"vars": {}, "assert": list(assertions)}}
    if traceparent is not None:
        context["traceparent"] = traceparent
    provider = LobuProvider(options, spans_in_response=in_response)
    return await provider.call_api(prompt, context)


def warnings(response: dict[str, Any]) -> list[str]:
    return [text for text in response["metadata"]["warnings"] if "spans" in text]


def failed(response: dict[str, Any]) -> tuple[str, str]:
    error = response["metadata"]["error"]
    return error["code"], error["class"]


async def test_a_call_with_a_traceparent_is_told_under_it(receiver: Receiver) -> None:
    response = await call(ASSERTION, otlpEndpoint=receiver.url)
    assert "error" not in response
    assert [span["name"] for span in receiver.spans] == [
        "invoke_agent support-agent",
        "turn 1",
        "execute_tool search_memory",
    ]
    assert receiver.spans[0]["parentSpanId"] == SPAN
    assert {span["traceId"] for span in receiver.spans} == {TRACE}
    assert warnings(response) == []
    assert SPANS_KEY not in response


async def test_without_a_traceparent_nothing_is_told(receiver: Receiver) -> None:
    response = await call(ASSERTION, traceparent=None, otlpEndpoint=receiver.url)
    assert "error" not in response
    assert warnings(response) == []
    assert receiver.bodies == []


@pytest.mark.parametrize(
    "assertion",
    [
        ASSERTION,
        {"type": "trajectory:goal-success", "value": "x"},
        {"type": "trace-error-spans"},
        {"type": "not-trace-span-count"},
        {"type": "assert-set", "assert": [{"type": "assert-set", "assert": [ASSERTION]}]},
    ],
)
async def test_lost_spans_are_an_error_where_the_test_asserts_on_them(assertion: Any) -> None:
    response = await call({"type": "contains", "value": "x"}, assertion, otlpEndpoint=NOBODY)
    assert failed(response) == ("config", "config")
    assert response["error"].startswith("[config] The spans of this conversation were not")
    assert response["metadata"]["rateLimitKind"] == "quota"
    assert response["output"]
    assert response["metadata"]["toolCalls"]


@pytest.mark.parametrize("assertion", [{"type": "contains"}, {"type": "traced"}, {}, "text", None])
async def test_lost_spans_are_one_warning_in_other_tests(assertion: Any) -> None:
    response = await call(assertion, otlpEndpoint=NOBODY)
    assert "error" not in response
    assert len(warnings(response)) == 1


async def test_an_endpoint_that_is_no_address_is_a_fault_of_the_config() -> None:
    response = await call(ASSERTION, otlpEndpoint=NO_ADDRESS)
    assert failed(response) == ("config", "config")
    assert NO_ADDRESS in response["error"]
    plain = await call(otlpEndpoint=NO_ADDRESS)
    assert "error" not in plain
    assert len(warnings(plain)) == 1


async def test_best_effort_never_makes_an_error() -> None:
    response = await call(ASSERTION, tracing="best-effort", otlpEndpoint=NOBODY)
    assert "error" not in response
    assert len(warnings(response)) == 1


async def test_required_makes_an_error_of_lost_spans_in_every_test() -> None:
    response = await call(tracing="required", otlpEndpoint=NOBODY)
    assert failed(response) == ("config", "config")
    assert "config.tracing is 'required'" in response["error"]


async def test_required_without_a_traceparent_is_an_error_before_anything_is_sent() -> None:
    response = await call(tracing="required", traceparent=None)
    assert response["metadata"]["error"]["phase"] == "config"
    assert "tracing: {enabled: true" in response["error"]
    assert response["metadata"]["turns"] == []


async def test_required_takes_any_receiver_and_auto_only_promptfoo_s(receiver: Receiver) -> None:
    receiver.service = "collector"
    required = await call(ASSERTION, tracing="required", otlpEndpoint=receiver.url)
    assert "error" not in required
    auto = await call(ASSERTION, otlpEndpoint=receiver.url)
    assert "not promptfoo's receiver" in auto["error"]


@pytest.mark.parametrize("off", ["off", False])
async def test_off_tells_nothing_and_is_an_error_where_the_test_asserts_on_spans(
    receiver: Receiver, off: Any
) -> None:
    plain = await call(tracing=off, otlpEndpoint=receiver.url)
    assert "error" not in plain
    asserted = await call(ASSERTION, tracing=off, otlpEndpoint=receiver.url)
    assert "config.tracing is 'off'" in asserted["error"]
    assert asserted["metadata"]["error"]["phase"] == "config"
    assert receiver.bodies == []


@pytest.mark.parametrize("traceparent", ["", "nonsense", 7])
async def test_a_traceparent_that_is_none_is_an_error_only_where_spans_are_needed(
    traceparent: Any,
) -> None:
    plain = await call(traceparent=traceparent)
    assert "error" not in plain
    assert len(warnings(plain)) == 1
    asserted = await call(ASSERTION, traceparent=traceparent)
    assert failed(asserted) == ("config", "config")


@pytest.mark.parametrize("shown", ["redacted", "none"])
async def test_arguments_cannot_be_hidden_from_an_assertion_about_them(
    receiver: Receiver, shown: str
) -> None:
    settings: dict[str, Any] = {"traceArguments": shown, "otlpEndpoint": receiver.url}
    asserted = await call(BY_ARGUMENTS, **settings)
    assert f"config.traceArguments is '{shown}'" in asserted["error"]
    assert "error" not in await call(ASSERTION, **settings)
    (tool,) = [span for span in receiver.spans if span["name"].startswith("execute_tool")]
    values = [a["value"] for a in tool["attributes"] if a["key"].endswith("arguments")]
    assert values == ([{"stringValue": '{"query":"***"}'}] if shown == "redacted" else [])


async def test_arguments_that_had_to_be_cut_are_an_error_where_they_are_asserted_on(
    receiver: Receiver, tmp_path: Path
) -> None:
    steps = [{"tool": {"name": "a", "input": {"x": "y" * MAX_ARGUMENTS}}}, {"text": "Done."}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"version": 1, "replies": [{"steps": steps}]}))
    settings: dict[str, Any] = {"gateway": f"script:{script}", "otlpEndpoint": receiver.url}
    assert failed(await call(BY_ARGUMENTS, **settings)) == ("limit", "infrastructure")
    assert "error" not in await call(ASSERTION, **settings)


async def test_a_failed_row_keeps_its_own_error_when_its_spans_are_lost_too() -> None:
    response = await call(ASSERTION, prompt="no entry for this", otlpEndpoint=NOBODY)
    assert "The gateway ended the turn with an error" in response["error"]
    assert len(warnings(response)) == 1


async def test_a_failed_call_is_told_with_its_error(receiver: Receiver) -> None:
    await call(prompt="no entry for this", otlpEndpoint=receiver.url)
    conversation, turn = receiver.spans
    assert conversation["status"]["code"] == turn["status"]["code"] == 2


async def test_a_call_that_never_began_is_not_told(receiver: Receiver) -> None:
    response = await call(prompt=" ", otlpEndpoint=receiver.url)
    assert "error" in response
    assert receiver.bodies == []


async def test_a_caller_that_makes_the_spans_gets_them_as_json_and_nothing_is_posted(
    receiver: Receiver,
) -> None:
    response = await call(ASSERTION, in_response=True, otlpEndpoint=receiver.url)
    assert receiver.bodies == []
    told = json.loads(json.dumps(response[SPANS_KEY]))
    assert told["parent"] == {"traceId": TRACE, "spanId": SPAN, "traceFlags": 1}
    conversation, turn, tool = told["spans"]
    assert conversation["parent"] == SPAN
    assert (turn["parent"], tool["parent"]) == (conversation["id"], turn["id"])
    assert tool["attributes"]["gen_ai.tool.name"] == "search_memory"
    seconds, nanoseconds = tool["start"]
    assert seconds > 1_700_000_000
    assert 0 <= nanoseconds < 10**9
    assert told["ifLost"]["needed"] is True
    assert told["ifLost"]["error"]["code"] == "config"


@pytest.mark.parametrize(
    ("mode", "assertions", "needed"),
    [
        ("auto", [ASSERTION], True),
        ("auto", [], False),
        ("required", [], True),
        ("best-effort", [ASSERTION], False),
    ],
)
async def test_the_caller_is_told_what_a_loss_means(
    mode: str, assertions: list[Any], needed: bool
) -> None:
    response = await call(*assertions, tracing=mode, in_response=True)
    assert response[SPANS_KEY]["ifLost"]["needed"] is needed


async def test_a_caller_that_makes_the_spans_gets_none_without_a_traceparent() -> None:
    assert SPANS_KEY not in await call(ASSERTION, in_response=True, traceparent=None)


async def test_a_fault_of_ours_in_the_spans_is_a_row_like_any_other_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr("lobu_provider.promptfoo.tracing.spans_of", broken)
    assert failed(await call(ASSERTION)) == ("internal", "infrastructure")
    assert len(warnings(await call())) == 1


async def test_the_secrets_of_the_call_are_in_no_span(receiver: Receiver, tmp_path: Path) -> None:
    secret = "owl_pat_0123456789abcdef"
    steps = [{"tool": {"name": "a", "input": {"x": f"Bearer {secret}"}}}, {"text": "Done."}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"version": 1, "replies": [{"steps": steps}]}))
    await call(gateway=f"script:{script}", token=secret, otlpEndpoint=receiver.url)
    assert receiver.spans
    assert secret not in json.dumps(receiver.bodies)
