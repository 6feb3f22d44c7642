"""What one call of promptfoo asks for: the messages, the thread, and the life of its session."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.config.settings import load_settings
from lobu_provider.errors import ConfigError
from lobu_provider.promptfoo.call_plan import CallPlan, plan_call

UNLIMITED = settings(deadline=None)

HISTORY = json.dumps(
    [
        {"role": "system", "content": "be nice"},
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "new"},
    ]
)


def plan(prompt: str = "hello", context: Any = None, **config: Any) -> CallPlan:
    return plan_call(load_settings({"config": {"agent": "a", **config}}), prompt, context)


def refusal(*arguments: Any, **config: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        plan(*arguments, **config)
    return str(caught.value)


# --- messages


@pytest.mark.parametrize("context", [None, {}, {"vars": None}, {"vars": {"query": "hello"}}])
def test_without_a_transcript_the_prompt_is_the_message_as_it_is(context: Any) -> None:
    found = plan("  hello\n", context)
    assert found.messages == ("  hello\n",)
    assert found.warnings == ()


@pytest.mark.parametrize("prompt", ["", " \n"])
@pytest.mark.parametrize("transcript", [None, [], [""], {}, 7])
def test_nothing_to_send_is_an_error_that_says_why(prompt: str, transcript: Any) -> None:
    message = refusal(prompt, {"vars": {"transcript": transcript}})
    assert "nothing to send" in message


def test_a_transcript_takes_the_prompts_place_and_that_is_told() -> None:
    found = plan("ignored", {"vars": {"transcript": ["a", "", "b"]}})
    assert found.messages == ("a", "b")
    assert len(found.warnings) == 2
    assert "1 blank" in found.warnings[0]
    assert "prompt was not sent" in found.warnings[1]


def test_a_blank_prompt_beside_a_transcript_is_not_worth_a_word() -> None:
    assert plan(" ", {"vars": {"transcript": ["a"]}}).warnings == ()


@pytest.mark.parametrize("prompt", ["one", " two\n"])
def test_a_prompt_that_repeats_a_turn_is_not_worth_a_word(prompt: str) -> None:
    # promptfoo's web view opens only rows with a prompt, so people repeat a turn there.
    assert plan(prompt, {"vars": {"transcript": ["one", "two"]}}).warnings == ()


def test_a_transcript_wins_over_a_chat_prompt() -> None:
    assert plan(HISTORY, {"vars": {"transcript": ["a"]}}).messages == ("a",)


@pytest.mark.parametrize(
    ("template", "query", "is_meant"),
    [
        ("{{query}}", "Yes, please.", False),  # a split list, its last turn beside it
        ("{{query}}", "{{transcript}}", True),
        ("{{query}}", "{% if transcript %}{{ transcript }}{% endif %}", True),
        ("{{query}}", "The transcript, please.", False),
        ("{{ transcript }}", "x", True),
        ("def prompt(context): return context['vars']['transcript']", "x", True),
        (None, "x", True),
    ],
)
def test_a_plain_string_is_meant_only_where_the_prompts_template_names_it(
    template: Any, query: str, is_meant: bool
) -> None:
    test = {"vars": {"transcript": ["Hi.", "Yes, please."], "query": query}}
    context = {
        "vars": {"transcript": "Yes, please.", "query": "Yes, please."},
        "prompt": {"raw": template},
        "test": test,
    }
    if is_meant:
        assert plan("Yes, please.", context).messages == ("Yes, please.",)
        return
    with pytest.raises(ConfigError, match="disableVarExpansion"):
        plan("Yes, please.", context)


def test_a_split_transcript_is_an_error_unless_the_prompt_holds_it() -> None:
    context = {"vars": {"transcript": "first"}}
    assert "disableVarExpansion" in refusal("other", context)
    assert "disableVarExpansion" in refusal("", context)
    assert plan("first", context).messages == ("first",)
    assert plan("other", context, stringTranscript="prompt").messages == ("other",)


def test_turns_are_filled_in_only_when_asked_for() -> None:
    context = {"vars": {"transcript": [["hi {{name}}"]], "name": "Bob"}}
    assert plan("", context).messages == ("hi {{name}}",)
    assert plan("", context, renderTurns=True).messages == ("hi Bob",)
    assert plan("{{name}}", {"vars": {"name": "Bob"}}, renderTurns=True).messages == ("{{name}}",)


def test_a_chat_prompt_sends_what_is_new_and_tells_what_was_left_out() -> None:
    found = plan(HISTORY)
    assert found.messages == ("new",)
    system, history = found.warnings
    assert "system message" in system
    assert "2 earlier messages" in history


def test_in_a_live_thread_the_history_is_known_to_the_agent() -> None:
    found = plan(HISTORY, {"vars": {"sessionId": "t-1"}})
    assert found.messages == ("new",)
    assert not any("earlier messages" in warning for warning in found.warnings)


# --- the thread


def test_each_call_gets_a_fresh_thread_that_is_created_anew_and_deleted() -> None:
    one, two = plan().session, plan().session
    assert one.thread != two.thread
    assert one.thread.startswith("promptfoo-")
    assert (one.resume, one.keep) == (False, False)


CONVERSATION = [{"metadata": {"sessionId": "t-0"}}, {"metadata": {"sessionId": "t-live"}}]


@pytest.mark.parametrize(
    "context",
    [
        {"vars": {"sessionId": "t-live"}},
        {"vars": {"sessionId": "t-live"}, "test": {"vars": {}}},
        {"vars": {"sessionId": "t-live"}, "test": None},
        {"vars": {"_conversation": CONVERSATION}},
        {"vars": {"_conversation": CONVERSATION, "sessionId": 7}},
        {"vars": {"_conversation": [*CONVERSATION, {"metadata": {"error": {}}}]}},  # failed early
        {
            "vars": {"_conversation": CONVERSATION, "sessionId": "t-old"},
            "test": {"vars": {"sessionId": "t-old"}},
        },
        {
            "vars": {"_conversation": CONVERSATION, "sessionId": "chat-u7"},
            "test": {"vars": {"sessionId": "chat-{{user}}"}},
        },
    ],
)
def test_a_live_thread_is_gone_on_with(context: Any) -> None:
    session = plan("hello", context).session
    assert (session.thread, session.resume) == ("t-live", True)


@pytest.mark.parametrize(
    ("given", "is_judged"),
    [
        (None, False),
        ([], False),
        ("x", False),
        ([{"type": "contains", "value": "x"}], True),
        ([{"type": "assert-set", "assert": []}], True),
    ],
)
def test_a_test_with_assertions_is_judged(given: Any, is_judged: bool) -> None:
    assert plan("hello", {"test": {"assert": given}}).is_judged is is_judged


@pytest.mark.parametrize(
    "written", ["chat-{{user}}", "file://customer.txt", "chat-u6", "{% if a %}chat{% endif %}-u7"]
)
def test_an_authors_own_session_id_is_no_thread_also_where_it_holds_a_template(
    written: str,
) -> None:
    test = {"vars": {"sessionId": written}}
    planned = plan("hello", {"vars": {"sessionId": "chat-u7"}, "test": test})
    assert not planned.session.resume
    row = {"vars": {"sessionId": planned.session.thread}, "test": test}  # as a strategy hands back
    assert plan("hello", row).session.thread == planned.session.thread


@pytest.mark.parametrize(
    "context",
    [
        {"vars": {"sessionId": "t-old"}, "test": {"vars": {"sessionId": "t-old"}}},
        {"vars": {"sessionId": ""}},
        {"vars": {"sessionId": None}},
        {"vars": {"sessionId": ["t"]}},
        {"test": {"vars": {"sessionId": "t-old"}}},
        {"vars": {"_conversation": []}},
        {"vars": {"_conversation": "t"}},
        {"vars": {"_conversation": [{"metadata": None}]}},
        {"vars": {"_conversation": [None, 7]}},
    ],
)
def test_a_leftover_of_an_exported_row_is_no_live_thread(context: Any) -> None:
    session = plan("hello", context).session
    assert session.thread.startswith("promptfoo-")
    assert not session.resume


def test_a_conversation_of_which_no_call_had_a_thread_begins_anew_and_that_is_told() -> None:
    failed = plan("x", {"vars": {"_conversation": [{"metadata": {"error": {}}}]}})
    assert any("earlier calls" in warning for warning in failed.warnings)
    assert not plan("x", {"vars": {"_conversation": []}}).warnings


@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ({"vars": {"query": "x"}}, True),
        ({"vars": {}, "metadata": {"suite": "x"}}, True),
        ({"vars": {}, "metadata": {"conversationId": ""}}, True),
        ({"vars": {}, "metadata": {"conversationId": "c-1"}}, False),
        ({"vars": {"_conversation": CONVERSATION}}, False),
        (None, False),
    ],
)
def test_tests_that_share_a_conversation_for_want_of_an_id_are_told(
    test: Any, is_told: bool
) -> None:
    context = {"vars": {"_conversation": CONVERSATION}, "test": test}
    told = [w for w in plan("x", context).warnings if "no metadata.conversationId" in w]
    assert bool(told) is is_told
    assert not plan("x", {"vars": {"_conversation": []}, "test": test}).warnings


def test_repeats_of_a_conversation_do_not_share_a_thread() -> None:
    calls = [
        {"metadata": {"sessionId": "t-0", "run": {"repeatIndex": 0}}},
        {"metadata": {"sessionId": "t-1", "run": {"repeatIndex": 1}}},
    ]
    threads = [
        plan("x", {"vars": {"_conversation": calls}, "repeatIndex": i}).session.thread
        for i in (0, 1, 2)
    ]
    assert threads[:2] == ["t-0", "t-1"]
    assert threads[2].startswith("promptfoo-")


def test_a_pinned_thread_is_resumed_and_a_live_one_wins_over_it() -> None:
    pinned = plan(thread="mine").session
    assert (pinned.thread, pinned.resume) == ("mine", True)
    assert plan("x", {"vars": {"sessionId": "t-live"}}, thread="mine").session.thread == "t-live"


# --- the session's life


@pytest.mark.parametrize(
    ("context", "config", "keep"),
    [
        (None, {}, False),
        ({"vars": {"sessionId": "t-live"}}, {}, False),
        ({"test": {"metadata": {"suite": "x"}}}, {}, False),
        ({"test": {"metadata": {"conversationId": ""}}}, {}, False),
        ({"test": {"metadata": {"conversationId": None}}}, {}, False),
        ({"test": {"metadata": {"conversationId": "c-1"}}}, {}, True),
        ({"test": {"metadata": {"conversationId": 17}}}, {}, True),
        (None, {"thread": "mine"}, True),
        (None, {"keepSession": True}, True),
        ({"vars": {"sessionId": "t-live"}}, {"keepSession": True}, True),
    ],
)
def test_a_session_is_kept_exactly_when_the_conversation_goes_on(
    context: Any, config: dict[str, Any], keep: bool
) -> None:
    assert plan("hello", context, **config).session.keep is keep


def test_what_the_config_says_of_the_session_is_passed_on_as_given() -> None:
    session = plan(provider="openai", model="gpt-5", dryRun=False).session
    assert (session.agent_id, session.provider, session.model, session.dry_run) == (
        "a",
        "openai",
        "gpt-5",
        False,
    )
    assert plan().session.dry_run is True
    assert plan().session.provider is None


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["vars", "test", "metadata", "transcript", "sessionId", "_conversation", "run", "x"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)


@UNLIMITED
@given(st.text(), st.fixed_dictionaries({}, optional={"vars": GARBAGE, "test": GARBAGE}) | GARBAGE)
def test_any_context_gives_a_plan_or_a_config_error(prompt: str, context: Any) -> None:
    with suppress(ConfigError):
        found = plan(prompt, context)
        assert found.messages
        assert all(text.strip() for text in found.messages)
        assert found.session.thread.strip()


def test_a_string_that_was_perhaps_a_list_is_told() -> None:
    (warning,) = plan("Say: hi there!", {"vars": {"transcript": "hi there"}}).warnings
    assert "promptfoo has split it" in warning
    assert "disableVarExpansion: true" in warning
    assert "stringTranscript: prompt" in warning


def test_a_transcript_of_blanks_is_told() -> None:
    (warning,) = plan("hi", {"vars": {"transcript": ["", " "]}}).warnings
    assert "nothing but blanks" in warning


@pytest.mark.parametrize(
    ("transcript", "said"),
    [("[]", "is an empty list"), ("[[]]", "is an empty list"), ('[" "]', "nothing but blanks")],
)
def test_a_list_as_text_without_turns_is_told_as_what_it_is(transcript: str, said: str) -> None:
    (warning,) = plan("hi", {"vars": {"transcript": transcript}}).warnings
    assert said in warning
    assert warning.endswith("so the prompt was sent.")
