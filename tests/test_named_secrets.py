"""Whatever stands under the name of a secret is hidden, however it is written; counts stay."""

from __future__ import annotations

import json
import re
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


LONG = "q7Hc-93kd_Xx81zP"


@pytest.mark.parametrize(
    "text",
    [
        "Session(id='x', token='S')",
        'LOBU_TOKEN="S" lobu run',
        "export API_KEY=S",
        'token = "S"',
        "a: 1\ntoken: S\nb: 2",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: S\r\n",
        "Authorization: Token S",
        "Set-Cookie: sid=S; Path=/",
        "curl -H 'X-Auth-Token: S'",
        "{Id:5 Token:S}",
        "map[id:5 token:S]",
        '{:a=>1, :token=>"S"}',
        '#<Session:0x01 @token="S">',
        'Session { id: 5, token: Some("S") }',
        "{b'token': b'S'}",
        '{"name":"token","value":"S"}',
        "[{'name': 'x-api-key', 'value': 'S'}]",
        '[["token","S"]]',
        "Headers([('host', 'x'), ('x-api-key', 'S')])",
        '["token", "S',
        "<token>S</token>",
        '<session token="S"/>',
        '<input name="token" value="S">',
        "{&quot;token&quot;:&quot;S&quot;}",
        "{&#34;token&#34;: &#34;S",
        "https://h/?q=%7B%22token%22%3A%22S%22%7D",
        "?config[token]=S&a=1",
        "?config%5Btoken%5D=S",
        *(f'{{"{name}": "S"}}' for name in ("secretAccessKey", "accessKey", "secretKey", "pwd")),
        *(f'{{"{name}": "S"}}' for name in ("credential", "credentials", "passphrase", "jwt")),
        *(f'{{"{name}": "S"}}' for name in ("cookie", "x-authorization", "api.key", "api/key")),
    ],
)
def test_the_ways_in_which_languages_and_formats_write_a_name(text: str) -> None:
    shown = Redactor().text(re.sub(r"\bS\b", LONG, text))
    assert shown != text
    assert LONG not in shown
    assert Redactor().text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        f"https://h/token/{LONG}",
        f"((token . {LONG}))",
        "Provider basic authentication failed; basic auth-mode is off",
        "Basic Authentication is required, bearer authentication. Or not",
        "see https://gateway.example/help?key=why-it-failed",
        'required: ["token", "agentId"]',
        '{"path": ["config", "token"], "name": "token", "note": "value"}',
        "Unexpected token: expected a string",
        "password: must be at least 8 characters",
        '{"fieldErrors": {"password": ["must be at least 8 characters"], "token": ["Required"]}}',
    ],
)
def test_what_no_name_tells_of_is_not_guessed(text: str) -> None:
    assert Redactor().text(text) == text
    if text.startswith("{"):
        assert without_named(json.loads(text)) == json.loads(text)
        assert Redactor().json_text(json.loads(text)) == json.loads(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"name": "token", "value": "pl"}, {"name": "token", "value": MASK}),
        ({"Value": "pl", "Key": "api-key"}, {"Value": MASK, "Key": "api-key"}),
        ([["token", "plain-1x"], ["a", "b"]], [["token", MASK], ["a", "b"]]),
        ({"tokens": ["one two three"]}, {"tokens": [MASK]}),
        ({"name": "Anna", "value": "plain-1x"}, {"name": "Anna", "value": "plain-1x"}),
    ],
)
def test_a_name_may_stand_beside_its_secret_in_json(value: Any, shown: Any) -> None:
    assert without_named(value) == shown
    assert Redactor().json_text(value) == shown


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
        "&quot;token&quot;:&quot;", "<token>", "%22", "\ntoken: ", "name:'", "('token','",
        "cookie: ", "token='", "?a[token]=", " token:", 'name="token" value="', 'name:\\"',
        '\\"token\\":', "\\", "%23token%3D", '"token":"abcde1",', "`", "b'", "[",
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", '{"token": ['])
def test_half_a_megabyte_of_anything_is_looked_through_once(part: str, before: str) -> None:
    text = before + part * (500_000 // len(part))  # of quadratic work this would take hours
    shown = Redactor().text(text)
    assert "abcde1" not in shown


def test_a_text_full_of_overlapping_secrets_is_shortened_at_once() -> None:
    secrets = [part * count for count in range(16, 116) for part in ("a", "ab")]
    text = f"{secrets!r} " + "a" * 200_000 + "ab" * 200_000  # millions of places
    for limit in (100_000, 300_000):
        shown = Redactor(secrets).shortened(text, limit)
        assert "aaaaaaaa" not in shown
        assert "abababab" not in shown


def test_what_a_mask_could_make_anew_is_looked_for_only_under_its_name() -> None:
    text = json.dumps({"tokens": ["*aaaaaa", "aa***aa"], "error": "*" + "a" * 200_000})
    assert named_in(text) == []  # each would be found again in what its replacement leaves
    assert Redactor().text(text).startswith('{"tokens": ["***", "***"], "error": "*aaa')


@pytest.mark.parametrize(
    "text",
    [
        'export LOBU_TOKEN="$(lobu token --raw)"',
        'token: "{{env.LOBU_TOKEN}}"',
        "LOBU_TOKEN='${LOBU_TOKEN}'",
        'Authorization: "<your token>"',
    ],
)
def test_what_says_where_a_secret_comes_from_is_shown(text: str) -> None:
    assert Redactor().text(text) == text
