"""A prompt that is a JSON chat: only what is new in it is sent."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.errors import ConfigError
from lobu_provider.promptfoo.chat_prompt import ChatPrompt, read_chat_prompt

UNLIMITED = settings(deadline=None)


def message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


USER, SYSTEM, ASSISTANT = message("user", "u1"), message("system", "s"), message("assistant", "a")


@pytest.mark.parametrize(
    ("chat", "new", "history", "has_system"),
    [
        ([USER], ["u1"], 0, False),
        ([SYSTEM, USER], ["u1"], 0, True),
        ([message("developer", "s"), USER], ["u1"], 0, True),
        ([USER, ASSISTANT, message("user", "u2")], ["u2"], 2, False),
        ([SYSTEM, USER, ASSISTANT, message("user", "u2")], ["u2"], 2, True),
        ([USER, message("user", "u2")], ["u1", "u2"], 0, False),
        ([USER, ASSISTANT, USER, ASSISTANT, USER, message("user", "u2")], ["u1", "u2"], 4, False),
        ([USER, SYSTEM, ASSISTANT, message("user", "u2")], ["u2"], 2, True),
        ([USER, message("tool", "t"), message("user", "u2")], ["u2"], 2, False),
        ([USER, message("assistant", None), message("user", "u2")], ["u2"], 2, False),
        ([USER, message("user", " ")], ["u1"], 0, False),
        (
            [message("user", [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}])],
            ["a\nb"],
            0,
            False,
        ),
    ],
)
def test_what_follows_the_last_answer_is_new(
    chat: list[dict[str, Any]], new: list[str], history: int, has_system: bool
) -> None:
    expected = ChatPrompt(new, history, has_system)
    assert read_chat_prompt(json.dumps(chat)) == expected
    assert read_chat_prompt(f"\n  {json.dumps(chat, indent=1)}\n") == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "hello",
        "[",
        "[1] is a footnote",
        "[]",
        "[1, 2]",
        '["a", "b"]',
        '[{"role": "user"}]',
        '[{"content": "x"}]',
        '[{"role": 7, "content": "x"}]',
        '[{"role": "user", "content": "x"}, 7]',
        '{"role": "user", "content": "x"}',
        "[" * 5000,
    ],
)
def test_anything_else_is_a_plain_prompt(prompt: str) -> None:
    assert read_chat_prompt(prompt) is None


@pytest.mark.parametrize(
    "chat", [[SYSTEM], [ASSISTANT], [USER, ASSISTANT], [USER, ASSISTANT, message("user", "")]]
)
def test_a_chat_without_something_new_from_the_user_is_refused(chat: list[Any]) -> None:
    with pytest.raises(ConfigError, match="without a user message at its end"):
        read_chat_prompt(json.dumps(chat))


@pytest.mark.parametrize(
    "content", [None, 7, {}, [7], [{"type": "image_url", "image_url": "x"}], [{"type": "text"}]]
)
def test_a_message_that_is_no_text_is_refused(content: Any) -> None:
    with pytest.raises(ConfigError, match="not text"):
        read_chat_prompt(json.dumps([message("user", content)]))


@UNLIMITED
@given(
    st.text()
    | st.lists(
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "system", 7]), "content": st.text()}
        )
    ).map(json.dumps)
)
def test_any_prompt_is_a_chat_a_plain_prompt_or_a_config_error(prompt: str) -> None:
    with suppress(ConfigError):
        chat = read_chat_prompt(prompt)
        assert chat is None or all(text.strip() for text in chat.new_messages)
