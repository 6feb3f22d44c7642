"""``vars.transcript``: every shape in which promptfoo hands it over, and what each one means."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lobu_provider.errors import ConfigError
from lobu_provider.promptfoo.transcript import Transcript, read_transcript

UNLIMITED = settings(deadline=None)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["role", "content", "user", "x"]) | ANY_TEXT, inner)
    ),
)


def read(value: Any, prompt: str = "", *, string_means_prompt: bool = False) -> Transcript | None:
    return read_transcript(value, prompt, string_means_prompt=string_means_prompt)


def refusal(value: Any, prompt: str = "", **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read_transcript(value, prompt, **{"string_means_prompt": False, **options})
    return str(caught.value)


LISTS: list[tuple[list[Any], list[str]]] = [
    (["a", "b"], ["a", "b"]),
    ([["a", "b"]], ["a", "b"]),
    ([["a"], ["b", "c"]], ["a", "b", "c"]),
    ([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], ["a", "b"]),
    ([{"user": "a"}, {"user": "b"}], ["a", "b"]),
    ([[{"user": "a"}]], ["a"]),
    ([{"role": "user", "content": "a", "name": "Ann"}], ["a"]),
    (["a", {"user": "b"}, {"role": "user", "content": "c"}], ["a", "b", "c"]),
    (["  a  ", "b\n"], ["  a  ", "b\n"]),
    (["null", "7", "[1]"], ["null", "7", "[1]"]),
]


def test_braces_reach_the_gateway_as_they_are_and_that_is_told() -> None:
    transcript = read(["hello", "I am {{name}}"])
    assert transcript is not None
    assert transcript.turns == ["hello", "I am {{name}}"]
    (warning,) = transcript.warnings
    assert warning.startswith("Turn 2 holds '{{name}}'")
    assert "renderTurns" in warning


@pytest.mark.parametrize(("value", "turns"), LISTS)
def test_a_list_is_the_turns_and_as_json_text_the_same(value: list[Any], turns: list[str]) -> None:
    assert read(value) == Transcript(turns, [])
    assert read(json.dumps(value)) == Transcript(turns, [])
    assert read(f"\n {json.dumps(value, indent=2)} \n") == Transcript(turns, [])


@pytest.mark.parametrize(
    ("value", "turns", "dropped"),
    [
        (["a", "", "b"], ["a", "b"], 1),
        (["", " \n", "\t", "a"], ["a"], 3),
        ([{"user": ""}, {"role": "user", "content": " "}, {"user": "a"}], ["a"], 2),
        ([["a", ""], [""]], ["a"], 2),
    ],
)
def test_blank_entries_are_dropped_and_counted_in_a_warning(
    value: list[Any], turns: list[str], dropped: int
) -> None:
    found = read(value)
    assert found is not None
    assert found.turns == turns
    (warning,) = found.warnings
    assert str(dropped) in warning


@pytest.mark.parametrize(
    "value",
    [None, [], [[]], [[], []], "[]", "[[]]", [""], ["", " "], [{"user": ""}], 7, 1.5, True, {},
     {"role": "user"}, "", "   "],
)  # fmt: skip
def test_unset_empty_and_other_shapes_mean_the_prompt(value: Any) -> None:
    assert read(value, "the prompt") is None


@pytest.mark.parametrize(
    "value", ["first turn", "7", "null", '{"user": "a"}', '"quoted"', "[1", "a"]
)
def test_a_plain_string_is_a_split_list_and_the_message_gives_both_fixes(value: str) -> None:
    message = refusal(value, "something else")
    assert value in message
    assert "disableVarExpansion: true" in message
    assert '[["first turn", "second turn"]]' in message
    assert "stringTranscript: prompt" in message


def test_a_long_string_is_quoted_by_its_beginning() -> None:
    message = refusal("x" * 5000)
    assert "x" * 50 in message
    assert len(message) < 1000


@pytest.mark.parametrize("prompt", ["first turn", "Say: first turn!", " first turn "])
def test_a_string_that_the_prompt_contains_is_what_the_prompt_is_made_of(prompt: str) -> None:
    assert read("first turn", prompt) is None
    assert read(" first turn\n", prompt) is None


@pytest.mark.parametrize(
    ("value", "prompt"),
    [("no", "Tell me now: how?"), ("hi", "What is this?"), ("I", "Is it?"), ("refund", "refunds")],
)
def test_letters_inside_the_prompts_words_are_no_excuse(value: str, prompt: str) -> None:
    refusal(value, prompt)


def test_who_means_a_string_can_say_so() -> None:
    assert read("first turn", "other", string_means_prompt=True) is None
    assert read('["a"]', "other", string_means_prompt=True) == Transcript(["a"], [])


@pytest.mark.parametrize(
    ("value", "index", "shown"),
    [
        ([None], 0, "null"),
        (["a", 7], 1, "7"),
        (["a", "b", 1.5], 2, "1.5"),
        (["a", True], 1, "true"),
        (["", 7], 1, "7"),
        ([["a"], "b"], 0, '["a"]'),
        ([["a", 7]], 1, "7"),
        ([float("nan")], 0, '"NaN"'),
        ([{"user": 7}], 0, '{"user": 7}'),
        ([{"user": "a", "more": 1}], 0, '{"user": "a", "more": 1}'),
        ([{"role": "user"}], 0, '{"role": "user"}'),
        ([{"role": "user", "content": None}], 0, '"content": null'),
        ([{"role": "user", "content": ["a"]}], 0, '"content": ["a"]'),
        ([{"content": "a"}], 0, '{"content": "a"}'),
    ],
)
def test_an_item_that_is_no_text_is_told_with_index_and_value(
    value: Any, index: int, shown: str
) -> None:
    message = refusal(value)
    assert f"vars.transcript[{index}] is not text" in message
    assert shown in message
    if "nan" not in str(value):
        assert refusal(json.dumps(value)) == message


def test_an_unquoted_date_is_recognised_by_what_promptfoo_makes_of_it() -> None:
    assert "date" in refusal(["a", {}])


@pytest.mark.parametrize("role", ["assistant", "system", "User", ""])
def test_a_role_other_than_user_is_refused_by_name(role: str) -> None:
    message = refusal([{"role": "user", "content": "a"}, {"role": role, "content": "b"}])
    assert "vars.transcript[1]" in message
    assert f"not role '{role}'" in message


@UNLIMITED
@given(JSON, st.booleans(), st.booleans())
@example([["x", [[[]]]]], False, False)
@example("[" * 500 + "]" * 500, False, False)
@example("[" * 930 + "]" * 930, False, False)
def test_any_json_value_gives_turns_the_prompt_or_a_config_error(
    value: Any, string_means_prompt: bool, render: bool
) -> None:
    with suppress(ConfigError):
        found = read_transcript(
            value,
            "",
            string_means_prompt=string_means_prompt,
            variables={"x": value} if render else None,
        )
        assert found is None or (found.turns and all(t.strip() for t in found.turns))


# --- renderTurns


def rendered(turns: list[str], **variables: Any) -> Transcript | None:
    return read_transcript(turns, "", string_means_prompt=False, variables=variables)


@pytest.mark.parametrize(
    ("turn", "result"),
    [
        ("hello {{name}}", "hello Bob"),
        ("{{ name }}{{name}}", "BobBob"),
        ("{{user.first}} {{ user.age }}", "Ann 30"),
        ("{{flag}} {{none}} {{list}}", 'true null ["é", 1]'),
        ("{ {name} } {name}", "{ {name} } {name}"),
        ("{{tricky}}", "{{name}}"),
    ],
)
def test_names_are_filled_in_once(turn: str, result: str) -> None:
    found = rendered(
        [turn],
        name="Bob",
        user={"first": "Ann", "age": 30},
        flag=True,
        none=None,
        list=["é", 1],
        tricky="{{name}}",
    )
    assert found == Transcript([result], [])


@pytest.mark.parametrize("turn", ["{{nope}}", "{{user.nope}}", "{{name.x}}", "{{env.X}}"])
def test_a_name_that_vars_lacks_is_told_with_the_known_ones(turn: str) -> None:
    variables = {"name": "Bob", "user": {}, "__evalId": "e"}
    message = refusal(["a", turn], variables=variables)
    assert "vars.transcript[1]" in message
    assert turn in message
    assert "Known: name, user." in message


@pytest.mark.parametrize("turn", ["{{ name | upper }}", "{{}}", "{{a b}}", "{{'x'}}", "{{a.}}"])
def test_more_than_a_name_is_refused_with_what_would_do(turn: str) -> None:
    message = refusal([turn], variables={"name": "Bob"})
    assert turn in message
    assert "{{name}} or {{name.key}}" in message


def test_a_turn_that_is_blank_once_filled_in_is_dropped_and_told() -> None:
    found = rendered(["a", "{{follow_up}}"], follow_up=" ")
    assert found is not None
    assert found.turns == ["a"]
    assert "1 blank" in found.warnings[0]
    assert rendered(["{{follow_up}}"], follow_up="") is None
