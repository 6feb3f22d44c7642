"""Whatever stands under the name of a secret is hidden, however it is written; counts stay."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.redaction import MASK, Redactor, named_in, tokens_in, without_named

UNLIMITED = settings(deadline=None)

VALUES = st.from_regex(r"[a-z]{3}-[0-9]{3}[A-Za-z0-9.'\"\\ü]{0,8}", fullmatch=True)
NAMES = st.sampled_from(
    ["token", "tokens", "access_token", "sessionToken", "api-key", "apiKey", "Password", "auth"]
)
OTHERS = st.from_regex(r"[b-f]{1,4}", fullmatch=True)
BELOW: st.SearchStrategy[Any] = st.deferred(
    lambda: VALUES | st.lists(BELOW, max_size=2) | st.dictionaries(OTHERS, BELOW)
)
DOCUMENTS = st.dictionaries(OTHERS, st.integers(0, 9999) | OTHERS) | st.lists(OTHERS, max_size=2)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def json_in_json(value: Any) -> str:
    return json.dumps({"b": [json.dumps({"c": json.dumps(value)})]})


WAYS = [json.dumps, repr, str, json_in_json, lambda value: f"bad: {json.dumps(value)[1:]}"]


@UNLIMITED
@given(NAMES, BELOW, DOCUMENTS, st.sampled_from(WAYS))
def test_no_text_below_a_secret_name_is_left_however_it_is_written(
    name: str, below: Any, document: Any, way: Any
) -> None:
    text = way({"b": document, name: below, "e": "end"})
    shown = Redactor().text(text)
    for secret in texts(below):
        assert secret[:7] not in shown
    assert Redactor().text(shown) == shown


@UNLIMITED
@given(NAMES, VALUES, st.sampled_from(WAYS), st.integers(0, 60))
def test_a_text_that_is_cut_anywhere_shows_no_part_of_a_secret(
    name: str, value: str, way: Any, cut: int
) -> None:
    text = way({"b": "e", name: {"b": [value]}})[: -cut or None]
    assert value[:5] not in Redactor().text(text)


@UNLIMITED
@given(st.text("abe {}[]()'\"\\`:=,#?&%3d123u-"), st.text("{}[]'\"\\:=,# token123u"))
def test_any_text_at_all_is_redacted_for_good_the_first_time(one: str, other: str) -> None:
    for text in (one, other, f'{{"token": {one}, "e": {other}', f"'token': '{other}#{one}"):
        shown = Redactor().text(text)
        assert Redactor().text(shown) == shown


@UNLIMITED
@given(
    st.sampled_from(["tokens", "total_tokens", "maxTokens", "token_count", "tokenLimit"]),
    st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
    st.sampled_from(WAYS),
)
def test_counts_of_tokens_stay(name: str, count: Any, way: Any) -> None:
    for value in (count, [count], {"input": count, "output": count}):
        text = way({"b": 1, name: value})
        assert Redactor().text(text) == text
        assert Redactor().json_text({name: value}) == {name: value}


@UNLIMITED
@given(BELOW, NAMES)
def test_a_json_value_keeps_its_shape_and_loses_every_text_below_the_name(
    below: Any, name: str
) -> None:
    value = {"b": 1, name: below, "notes": [f"see {text}!" for text in texts(below)]}
    for shown in (without_named(value), Redactor().json_text(value)):
        assert shown["b"] == 1
        assert set(texts(shown[name])) <= {MASK}
        assert len(texts(shown[name])) == len(texts(below))
        assert shown["notes"] == [f"see {MASK}!"] * len(texts(below))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{'token': 'plain-1'}", "{'token': '***'}"),
        ("{'token': \"it's-1\"}", "{'token': \"***\"}"),
        ("{'token': b'plain-1'}", "{'token': b'***'}"),
        ("{ id: 1, token: 'plain-1' }", "{ id: 1, token: '***' }"),
        ('{"token" => "plain-1"}', '{"token" => "***"}'),
        ('{"tokens": ["plain-1", 512]}', '{"tokens": ["***", 512]}'),
        ('{"tokens": [{"token": "1234567"}]}', '{"tokens": [{"token": "***"}]}'),
        ('{"token": {"value": "plain-1", "n": 5}}', '{"token": {"value": "***", "n": 5}}'),
        ('{"token": 12345678}', '{"token": "***"}'),
        ('{"token": 12345, "n": 12345678}', '{"token": 12345, "n": 12345678}'),
        ('failed: {\\"token\\": \\"plain-1\\"}', 'failed: {\\"token\\": \\"***\\"}'),
        ('["{\\"token\\": \\"plain-1\\"}"]', '["{\\"token\\": \\"***\\"}"]'),
        ("http://x/cb#token=plain-1&a=1", "http://x/cb#token=***&a=1"),
        ("http://x/cb#/a?b=1#access_token=plain", "http://x/cb#/a?b=1#access_token=***"),
        ("/in?next=%2Fcb%23token%3Dplain-1%26a", "/in?next=%2Fcb%23token%3D***%26a"),
        ('{"u": "http://x?key=plain"}', '{"u": "http://x?key=***"}'),
        ("a=1&token=plain-1", "a=1&token=***"),
        ("token=plain-1 was refused", "token=*** was refused"),
        ("set LOBU_TOKEN=yours or token=$(cat f)", "set LOBU_TOKEN=yours or token=$(cat f)"),
        ('"plain-1x" {"token":{"value":"plain-1x"}}', '"***" {"token":{"value":"***"}}'),
        ('login required {"auth": "required"}', 'login required {"auth": "***"}'),
        ('{"token": "", "auth": null}', '{"token": "", "auth": null}'),
        ('{"token": expected a string}', '{"token": expected a string}'),
        ("don't say token: it's a word", "don't say token: it's a word"),
        ('{"tokens": "512", "usage": "3 tokens"}', '{"tokens": "512", "usage": "3 tokens"}'),
    ],
)
def test_the_ways_in_which_names_and_secrets_are_written(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "{'token': 'plain-1x'}",
        "http://x#token=plain-1x",
        '{"tokens": ["plain-1x"]}',
        '{"token": {"a": {"b": "plain-1x"}}}',
        f"http://x?u={quote('/y?token=plain-1x')}",
    ],
)
def test_a_secret_is_learned_from_its_name_to_hide_it_in_what_is_quoted(text: str) -> None:
    assert named_in(text) == ["plain-1x"]


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ('{"tokens": ["plain-1"], "token": {"value": "plain-1", "type": "Bearer"}}', []),
        ('{"tokens": ["abcdefgh-12345678"]}', ["abcdefgh-12345678"]),
        ('{"token": {"value": "abcdefgh-12345678"}}', ["abcdefgh-12345678"]),
        ('{"token": {"kind": "internationalisation"}}', []),
        ('{"password": "abcdefgh-12345678", "sseUrl": "http://x/abcdefgh-12345678"}', []),
        ("{'token': 'plain-1'}", ["plain-1"]),
    ],
)
def test_an_answer_loses_only_what_is_surely_a_token_of_the_reply(
    body: str, tokens: list[str]
) -> None:
    assert tokens_in(body) == tokens


SECRET = "canary-unknown-7f3a91"


@UNLIMITED
@given(
    st.sampled_from(
        [
            f"{SECRET} and {SECRET}",
            f'"token": "{SECRET}", "again": "{SECRET}"',
            f"'token': ['{SECRET}'], {SECRET}",
            "token=12345678 x",
            "http://user:pass-word@host/x",
            f"{'a1' * 12}:{'b2' * 16}:{'c3' * 40} x",
            "Bearer abc.def.ghi",
        ]
    ),
    st.integers(1, 120),
    st.sampled_from(["x ", "", '{"a": ']),
)
def test_the_start_of_a_long_text_shows_no_half_of_a_secret(
    told: str, limit: int, before: str
) -> None:
    # The secret lies where the text is cut before it is searched, and what precedes it shrinks.
    known = "known-secret-" * 4
    redactor = Redactor([SECRET, known])
    for shift in (0, 7, len(told) - 1):
        filler = known * ((limit + 4096 - shift) // len(known)) + before
        shown = redactor.shortened(filler + told + " y" * 20_000, limit * 4)
        for part in ("canary-u", "nown-7f3", "1234", "pass-w", "a1a1a1", "abc.d"):
            assert part not in shown


@pytest.mark.parametrize(
    "part",
    [
        "'", "'a':", "{a:", "token=", "a=", "?token=", "{'token':[", "{'tokens':[", '"token":"',
        "{token: {",
        '\\"token\\":', "\\", "%23token%3D", '"token":"abcde1",', "`", "b'", "[",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", '{"token": ['])
def test_half_a_megabyte_of_anything_is_looked_through_once(part: str, before: str) -> None:
    text = before + part * (500_000 // len(part))  # of quadratic work this would take hours
    shown = Redactor().text(text)
    assert "abcde1" not in shown
