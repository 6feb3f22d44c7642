"""promptfoo's ``sessionId``: another one after each call in a thread, and the thread in each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.config.settings import load_settings
from lobu_provider.promptfoo.call_plan import CallPlan, plan_call
from lobu_provider.promptfoo.call_record import CallRecord
from lobu_provider.promptfoo.response import build_response
from lobu_provider.promptfoo.session_ids import read_session_id, session_id_of

ODD_THREADS = ["ticket~2", "ticket~call2", "ticket~call2~call3", "~call2", "a\nb~call1", "x" * 300]
THREADS = st.text(min_size=1) | st.sampled_from(ODD_THREADS)


def plan(variables: dict[str, Any], **config: Any) -> CallPlan:
    settings = load_settings({"config": {"agent": "a", **config}})
    return plan_call(settings, "yes", {"vars": variables, "test": {"vars": {"query": "x"}}})


def answered(planned: CallPlan) -> dict[str, Any]:
    """Return the response to a call, as far as ids go."""
    thread = planned.session.thread
    return build_response(CallRecord(thread=thread, call_number=planned.call_number))


@given(THREADS, st.integers(1, 999_999_999))
def test_thread_and_number_can_be_read_from_any_session_id(thread: str, call: int) -> None:
    assert read_session_id(session_id_of(thread, call)) == (thread, call)


@given(THREADS.filter(lambda thread: not thread[-1].isdigit()))
def test_the_first_call_returns_the_name_of_its_thread(thread: str) -> None:
    assert session_id_of(thread, 1) == thread


@pytest.mark.parametrize("config", [{}, *({"thread": thread} for thread in ODD_THREADS)])
def test_each_call_of_a_conversation_gets_other_variables_and_the_same_thread(
    config: dict[str, str],
) -> None:
    variables: dict[str, Any] = {}
    handed_back, threads = [], set()
    for _ in range(5):
        planned = plan(variables, **config)
        response = answered(planned)
        threads.add(planned.session.thread)
        metadata = response["metadata"]
        assert metadata["thread"] == metadata["sessionId"] == planned.session.thread
        variables = {"sessionId": response["sessionId"]}
        handed_back.append(response["sessionId"])
    assert len(set(handed_back)) == 5
    assert len(threads) == 1
    assert not config or threads == {config["thread"]}


def test_a_strategy_that_keeps_the_first_session_id_goes_on_in_its_thread() -> None:
    first = answered(plan({}))
    for _ in range(3):
        planned = plan({"sessionId": first["sessionId"]})
        assert (planned.session.thread, planned.session.resume) == (first["sessionId"], True)


def test_a_name_that_the_user_gave_both_as_thread_and_as_variable_is_counted_too() -> None:
    test = {"vars": {"sessionId": "mine"}}
    settings = load_settings({"config": {"agent": "a", "thread": "mine"}})
    found = plan_call(settings, "yes", {"vars": {"sessionId": "mine"}, "test": test})
    assert answered(found)["sessionId"] == "mine~call2"


def test_the_session_id_of_another_thread_begins_no_count() -> None:
    test = {"vars": {"sessionId": "old~call7"}}
    settings = load_settings({"config": {"agent": "a"}})
    found = plan_call(settings, "yes", {"vars": {"sessionId": "old~call7"}, "test": test})
    assert found.call_number == 1
    assert answered(found)["sessionId"] == found.session.thread


@pytest.mark.parametrize(
    ("metadata", "thread"),
    [
        ({"sessionId": "t-1~call4"}, "t-1"),  # what a simulated user leaves
        ({"thread": "ticket~call2", "sessionId": "ticket~call2"}, "ticket~call2"),  # of ours
    ],
)
def test_an_earlier_call_of_the_conversation_tells_its_thread(
    metadata: dict[str, str], thread: str
) -> None:
    assert plan({"_conversation": [{"metadata": metadata}]}).session.thread == thread


def test_a_mark_without_a_thread_is_no_live_thread() -> None:
    assert not plan({"sessionId": " ~call2"}).session.resume
