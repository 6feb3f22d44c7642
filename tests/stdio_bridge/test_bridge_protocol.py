"""The lines of the protocol: pure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.stdio_bridge.protocol import (
    PROTOCOL,
    Call,
    Cancel,
    LineSplitter,
    UnreadableLineError,
    decode,
    encode_fault,
    encode_ready,
    encode_result,
)

TEXT = st.text(st.characters())  # lone surrogates, U+2028, NUL: everything
SAFE = st.integers(-(2**53) + 1, 2**53 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | SAFE | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, JSON)
IDS = SAFE | TEXT


@settings(max_examples=50, deadline=None)
@given(IDS, OBJECT)
def test_any_response_survives_as_one_ascii_line(call_id: int | str, response: Any) -> None:
    line = encode_result(call_id, response)
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert json.loads(line) == {"type": "result", "id": call_id, "response": response}


@settings(max_examples=50, deadline=None)
@given(IDS, TEXT, OBJECT, OBJECT | st.none())
def test_any_call_survives(call_id: int | str, prompt: str, options: Any, context: Any) -> None:
    message = {
        "type": "call",
        "id": call_id,
        "options": options,
        "prompt": prompt,
        "context": context,
    }
    assert decode(json.dumps(message).encode()) == Call(call_id, prompt, options, context)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_client_may_write_utf_8_as_javascript_does(text: str) -> None:
    message = {"type": "call", "id": 1, "options": {}, "prompt": text}
    call = decode(json.dumps(message, ensure_ascii=False).encode())
    assert isinstance(call, Call)
    assert call.prompt == text


@given(st.lists(st.binary().map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_are_the_same_however_the_bytes_are_cut(lines: list[bytes], data: Any) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"the rest"
    splitter = LineSplitter()
    found: list[bytes] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == [line for line in lines if line.strip()]


def test_the_first_line_names_protocol_and_versions() -> None:
    ready = json.loads(encode_ready("1.2.3"))
    assert ready["type"] == "ready"
    assert (ready["protocol"], ready["version"]) == (PROTOCOL, "1.2.3")
    assert set(ready) == {"type", "protocol", "version", "python", "pid"}


@pytest.mark.parametrize("given", [True, False, None, "yes", 1])
def test_a_client_may_say_that_it_makes_the_spans(given: Any) -> None:
    message = {"type": "call", "id": 1, "options": {}, "prompt": "", "spans": given}
    call = decode(json.dumps(message).encode())
    assert isinstance(call, Call)
    assert call.makes_spans is (given is True)


def test_a_cancel_names_its_call() -> None:
    assert decode(b'{"type": "cancel", "id": "a"}') == Cancel("a")


@pytest.mark.parametrize(
    ("line", "call_id", "reason"),
    [
        (b"no JSON", None, "not JSON"),
        (b"\xff\xfe", None, "not UTF-8"),
        (b"[1]", None, "an object"),
        (b'{"type": "call"}', None, "'id'"),
        (b'{"type": "call", "id": true}', None, "'id'"),
        (b'{"type": "call", "id": 1.5}', None, "'id'"),
        (b'{"type": "nonsense", "id": 4}', 4, "'type'"),
        (b'{"type": "call", "id": 4}', 4, "'prompt'"),
        (b'{"type": "call", "id": 4, "prompt": "", "options": []}', 4, "'options'"),
        (b'{"type": "call", "id": 4, "prompt": "", "options": {}, "context": 1}', 4, "'context'"),
        (b'{"type":"call","id":17,"options":{"x', 17, "not JSON"),
        (b'{"type":"call","id":"a-1","options":{"x', "a-1", "not JSON"),
        (b'{"type":"call","id":9,"options":' + b"[" * 100_000, 9, "nested too deep"),
    ],
)
def test_what_is_no_message_is_told_with_the_id_where_there_is_one(
    line: bytes, call_id: int | str | None, reason: str
) -> None:
    with pytest.raises(UnreadableLineError, match=reason) as caught:
        decode(line)
    assert caught.value.call_id == call_id
    fault = json.loads(encode_fault(caught.value.call_id, str(caught.value)))
    assert fault == {"type": "fault", "id": call_id, "message": str(caught.value)}


def test_a_complaint_never_quotes_the_line() -> None:
    line = (
        b'{"type": "call", "id": 1, "options": {"config": {"token": "sekret"}}, "prompt": sekret}'
    )
    with pytest.raises(UnreadableLineError) as caught:
        decode(line)
    assert "sekret" not in str(caught.value)


def test_a_call_does_not_show_its_options() -> None:
    call = decode(
        b'{"type": "call", "id": 1, "prompt": "", "options": {"config": {"token": "sekret"}}}'
    )
    assert "sekret" not in repr(call)
