"""No secret of a call leaves it, and nothing else is touched."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.redaction import MASK, MIN_SECRET_LENGTH, Redactor, tokens_in
from lobu_provider.secret_forms import forms

UNLIMITED = settings(deadline=None)

# Few letters, the mask's own among them: secrets overlap, contain each other and touch the mask.
SMALL = st.text("ab* :/@", max_size=40)
SMALL_SECRETS = st.lists(st.text("ab*:", min_size=6, max_size=9), max_size=4)
SECRETS = st.lists(st.none() | st.text(max_size=30), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | SMALL,
    lambda inner: st.lists(inner) | st.dictionaries(SMALL, inner),
)


def _known(secrets: list[Any]) -> list[str]:
    return [s.strip() for s in secrets if s is not None and len(s.strip()) >= MIN_SECRET_LENGTH]


@UNLIMITED
@given(SMALL_SECRETS, SMALL)
def test_no_known_secret_is_left_in_a_text_however_they_overlap(
    secrets: list[str], text: str
) -> None:
    redactor = Redactor(secrets)
    for secret in _known(secrets):
        assert secret not in redactor.values(text)
        assert secret not in redactor.text(text)


@UNLIMITED
@given(SECRETS, st.text(), st.text())
def test_a_secret_between_any_two_texts_is_gone(
    secrets: list[str | None], before: str, after: str
) -> None:
    redactor = Redactor(secrets)
    for secret in _known(secrets):
        assert secret not in redactor.values(before + secret + after)


@UNLIMITED
@given(SMALL_SECRETS, SMALL)
def test_redacting_twice_changes_nothing_more(secrets: list[str], text: str) -> None:
    redactor = Redactor(secrets)
    assert redactor.values(redactor.values(text)) == redactor.values(text)
    assert redactor.text(redactor.text(text)) == redactor.text(text)


@UNLIMITED
@given(
    st.lists(
        st.sampled_from(
            [
                "bearer ",
                "owl_pat_",
                "abcdef",
                "0123456789abcdef",
                ":",
                "://",
                "@",
                "?token=",
                "&",
                " ",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_shapes_are_redacted_idempotently_whatever_they_touch(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(redactor.text(text)) == redactor.text(text)


@UNLIMITED
@given(st.lists(st.text("xyz0123456", min_size=6), max_size=3), st.text("abc *\n{}\"'"))
def test_a_text_without_a_secret_is_not_touched(secrets: list[str], text: str) -> None:
    assert Redactor(secrets).values(text) == text
    assert Redactor(secrets).text(text) == text


@UNLIMITED
@given(SMALL_SECRETS, JSON)
def test_no_string_or_key_of_a_json_value_holds_a_secret_afterwards(
    secrets: list[str], value: Any
) -> None:
    def strings(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [*value, *(s for item in value.values() for s in strings(item))]
        if isinstance(value, list):
            return [s for item in value for s in strings(item)]
        return [value] if isinstance(value, str) else []

    redacted = Redactor(secrets).json(value)
    for secret in _known(secrets):
        assert not [s for s in strings(redacted) if secret in s]
    assert Redactor(secrets).json(redacted) == redacted


@UNLIMITED
@given(
    st.lists(st.text('ab"\\\n:ü', min_size=6, max_size=9), max_size=3),
    st.recursive(
        st.none() | st.integers() | st.text('ab"\\\n:ü,{', max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('ab"\\\n:ü', max_size=12), inner),
    ),
)
def test_the_quick_look_never_misses_what_a_thorough_one_would_find(
    secrets: list[str], value: Any
) -> None:
    redactor = Redactor(secrets)
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(value, ensure_ascii=False, separators=separators)
        assert redactor.may_occur_in(text) or redactor.json(value) == value


@pytest.mark.parametrize(
    "secret", ['pass"word-1', "pass\\word-1", "påss\tword-1", "line\u2028-secret", "s3cret-value"]
)
def test_the_quick_look_finds_a_secret_however_json_writes_it(secret: str) -> None:
    redactor = Redactor([secret])
    for value in ([f"<{secret}>"], {f"<{secret}>": 1}, {"a": [json.dumps(secret)]}):
        assert redactor.may_occur_in(json.dumps(value, ensure_ascii=False))
    assert not redactor.may_occur_in(json.dumps(["something", {"else": 1}]))


def test_tuples_are_searched_too() -> None:
    assert Redactor(["s3cret-value"]).json(({"k": ("s3cret-value",)},)) == [{"k": [MASK]}]


def test_a_secret_that_contains_another_goes_as_a_whole() -> None:
    assert Redactor(["secret", "my-secret-token"]).values("x my-secret-token y") == f"x {MASK} y"


def test_a_secret_that_a_replacement_puts_together_goes_too() -> None:
    assert Redactor(["ab***cd", "secret"]).values("absecretcd") == MASK
    assert Redactor(["*** yz1"]).text("owl_pat_q yz1") == MASK


@pytest.mark.parametrize("secret", [None, "", "   ", "abc", "12345", " 12345 "])
def test_blank_and_short_values_are_no_secrets(secret: str | None) -> None:
    text = "abc 12345 and the rest"
    assert Redactor([secret]).text(text) == text


def test_white_space_around_a_secret_does_not_hide_it() -> None:
    assert Redactor(["  s3cret-value\n"]).values("<s3cret-value>") == f"<{MASK}>"


@pytest.mark.parametrize(
    "secret", ['pass"word-1', "pass\\word-1", "påss\tword-1", "line\u2028-secret"]
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_is_found_inside_a_json_string_too(secret: str, ascii_only: bool) -> None:
    text = json.dumps([{"content": f"it is {secret}!"}], ensure_ascii=ascii_only)
    assert json.loads(Redactor([secret]).values(text)) == [{"content": f"it is {MASK}!"}]


@pytest.mark.parametrize("scheme", ["Bearer", "basic", "Token"])
def test_the_secret_of_a_header_value_is_what_follows_its_scheme(scheme: str) -> None:
    redactor = Redactor([f"{scheme} dXNlcjpwYXNz"])
    assert redactor.values("the proxy says: dXNlcjpwYXNz is bad") == (
        f"the proxy says: {MASK} is bad"
    )


SESSION_TOKEN = f"{'a1' * 12}:{'b2' * 16}:{'c3' * 40}"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("token owl_pat_abcDEF123.x-y is bad", "token *** is bad"),
        ("OWL_PAT_ABCDEF", "***"),
        (f"got {SESSION_TOKEN}!", "got ***!"),
        (f"got {SESSION_TOKEN[:70]}", "got ***"),
        (f"got {SESSION_TOKEN[:57]}", "got ***"),
        (f"/events/{quote(SESSION_TOKEN)}?x", "/events/***?x"),
        (f"/events/{quote(SESSION_TOKEN).lower()}?x", "/events/***?x"),
        ('{"id": "s-1", "token": "abc-1"}', '{"id": "s-1", "token": "***"}'),
        ('{"data": [{"sessionToken" : "a\\"b"}]}', '{"data": [{"sessionToken" : "***"}]}'),
        ('{"\\u0074oken": "abc-1", "n": 1}', '{"\\u0074oken": "***", "n": 1}'),
        ('{"id": "s-1", "token": "abc-', '{"id": "s-1", "token": "***'),
        ('{"tokens": "3", "text": "token"}', '{"tokens": "3", "text": "token"}'),
        (f"sess_{SESSION_TOKEN}", "sess_***"),
        (f"x\\n{SESSION_TOKEN}\\tsession", "x\\n***\\tsession"),
        ("x\\nowl_pat_abc123", "x\\n***"),
        ("x\\nBearer abc.def.ghi", "x\\nBearer ***"),
        (
            '{"a": "{\\"token\\": \\"abc-1\\"}", "n": 1}',
            '{"a": "{\\"token\\": \\"***\\"}", "n": 1}',
        ),
        ('{"a": "{\\u0022token\\u0022:\\u0022abc-1', '{"a": "{\\"token\\":\\"***'),
        ('{"a": "{\\"token\\": \\"abc-1\\u00', '{"a": "{\\"token\\": \\"***'),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer ***"),
        ("authorization: basic dXNlcjpwYXNz", "authorization: basic ***"),
        ("at http://me:secret@gw.example/lobu", "at http://***@gw.example/lobu"),
        ("GET /events?since=1&token=abc&x=1", "GET /events?since=1&token=***&x=1"),
        ("a Bearer of news", "a Bearer of news"),
        ("mail me@example.com", "mail me@example.com"),
        ("ratio 1:2:3", "ratio 1:2:3"),
    ],
)
def test_our_own_texts_lose_whatever_is_shaped_like_a_secret(text: str, redacted: str) -> None:
    assert Redactor().text(text) == redacted


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_token_key_is_seen_however_deep_json_stands_in_json(depth: int) -> None:
    def nested(token: str) -> str:
        text = json.dumps({"token": token, "n": 1})
        for _ in range(depth):
            text = json.dumps({"body": text, "n": 2})
        return text

    assert Redactor().text(nested("abc-1")) == nested(MASK)


def test_a_json_value_loses_what_looks_like_a_secret_string_by_string() -> None:
    value = [{"x": ["a\b" + SESSION_TOKEN, 3, None]}, {"accessToken": "abc", SESSION_TOKEN: "y"}]
    assert Redactor(["s3cret-value"]).json_text(value) == [
        {"x": [f"a\b{MASK}", 3, None]},
        {"accessToken": MASK, MASK: "y"},
    ]


def test_an_agents_answer_is_never_altered_by_a_guess() -> None:
    answer = "Send 'Authorization: Bearer abc.def.ghi' to http://me:secret@host?token=1"
    assert Redactor(["another-secret"]).values(answer) == answer
    assert Redactor(["another-secret"]).json([answer]) == [answer]


@pytest.mark.parametrize(
    ("secret", "written"),
    [
        ("ab12:cd34:ef56", "ab12%3Acd34%3Aef56"),
        ("ab12:cd34:ef56", "ab12%3acd34%3aef56"),
        ("Bearer a+b/c==", "a%2Bb%2Fc%3D%3D"),
        ("a+b/c==d", "a%2Bb/c%3D%3Dd"),
        ("it's:(me)!", "it's%3A(me)!"),
        ("p\u00e4ssword", "p%C3%A4ssword"),
    ],
)
def test_a_secret_is_found_in_a_url_too(secret: str, written: str) -> None:
    text = f"see https://gw.example/x?ticket={written}&n=1"
    assert Redactor([secret]).values(text) == f"see https://gw.example/x?ticket={MASK}&n=1"


@pytest.mark.parametrize(
    "written",
    [
        "s3cr&amp;t&lt;o&#x27;k&gt;/1+x=",
        "s3cr&amp;t&lt;o&#39;k&gt;/1+x=",
        "s3cr&amp;t&lt;o&#039;k&gt;/1+x=",
        "s3cr&amp;t&lt;o&#39;k&gt;/1&#43;x=",
        "s3cr&amp;t&lt;o&#39;k&gt;&#x2F;1+x&#x3D;",
        "s3cr&#38;t&#60;o&#39;k&#62;&#47;1&#43;x&#61;",
        "s3cr&t<o'k>\\/1+x=",
        "s3cr\\u0026t\\u003co'k\\u003e/1+x=",
        "s3cr\\u0026t\\u003co\\u0027k\\u003e/1+x\\u003d",
        "s3cr\\u0026t\\u003Co\\u0027k\\u003E/1\\u002Bx\\u003D",
        "s3cr%2526t%253Co%2527k%253E%252F1%252Bx%253D",
        "s3cr%2526t%253co%2527k%253e%252f1%252bx%253d",
    ],
)
def test_a_secret_is_found_however_a_page_or_library_escapes_it(written: str) -> None:
    assert Redactor(["s3cr&t<o'k>/1+x="]).values(f"<p>{written}</p>") == f"<p>{MASK}</p>"


def test_a_secret_of_plain_letters_is_looked_for_in_one_form() -> None:
    assert forms("owl_pat_abc-1.2~x") == ("owl_pat_abc-1.2~x",)


def test_a_text_is_shortened_after_its_secrets_are_gone() -> None:
    redactor = Redactor(["s3cret-value"])
    assert redactor.shortened("x" * 5 + "s3cret-value", 10) == f"xxxxx{MASK}"
    assert redactor.shortened("s3cret-value" * 3 + "y" * 9, 11) == f"{MASK * 3}yy..."
    assert redactor.shortened("Bearer abc.def.ghi jkl", 10) == "Bearer ***..."


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ('{"token": "abc-123"}', ["abc-123"]),
        ('{"\\u0074oken": "\\u0061bc-123"}', ["abc-123"]),
        (
            '{"data": [{"Token": "abc-123", "accessToken": "def-456-ghi-789-j"}]}',
            ["abc-123", "def-456-ghi-789-j"],
        ),
        ('{"typeOfToken": "Bearer", "csrfToken": "refund policy of ours"}', []),
        ('{"token": "abc-123"}\n<!-- proxy -->', ["abc-123"]),
        ('{"agentId": "s-1", "token": "abc-12', ["abc-12"]),
        ('{"token": "", "tokens": "x", "auth": "none", "expiresAt": 3}', []),
        ('{"token": 7, "note": "token"}', []),
        ("<html>token</html>", []),
    ],
)
def test_the_tokens_of_a_reply_are_found_also_where_it_is_no_whole_json(
    body: str, tokens: list[str]
) -> None:
    assert tokens_in(body) == tokens


@pytest.mark.parametrize("part", ['\\"', '"', '"a":', "\\\\"])
def test_a_megabyte_of_half_json_is_looked_through_once(part: str) -> None:
    body = '{"' + part * (1_000_000 // len(part))  # of quadratic work this would take hours
    assert Redactor().text(body) == body
    assert tokens_in(body) == []
