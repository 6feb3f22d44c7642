"""Whatever is written in whatever framing and cut anywhere is read as it was meant."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from lobu_provider.events import Frame
from tests.wire.wire_framing import frames_of, one_by_one

ENDS = ("\n", "\r", "\r\n")

line_text = st.text(
    st.one_of(
        st.sampled_from('a: {}"\u2028\u2029\u0085\x0b\x0c\x1cé漢🔄\ufeff\x00'),
        st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"),
    ),
    max_size=12,
)
comment = line_text.map(lambda text: f":{text}")
other_field = st.sampled_from(["retry: 10", "retry: x", "unknown: 1", "unknown", "event"])
noise = st.lists(st.one_of(comment, other_field), max_size=2)
ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=5)


@dataclass(frozen=True)
class Written:
    """One frame as its lines, and what must be read from them."""

    lines: tuple[str, ...]
    event: str
    data: str
    new_id: str | None


@st.composite
def written(draw: st.DrawFn) -> Written:
    """A frame; without name and data it is no event, but its id counts."""
    name = draw(st.one_of(st.just("output"), line_text))
    data = draw(st.lists(line_text, max_size=3))
    new_id = draw(st.one_of(st.none(), ids))
    lines = [*draw(noise)]
    if new_id is not None:
        lines.append(_field(draw, "id", new_id))
    for text in data:
        lines += [_field(draw, "data", text), *draw(noise)]
    lines.append(_field(draw, "event", name))  # the last one counts, whatever the noise said
    return Written(
        (*lines, *draw(st.lists(comment, max_size=1)), ""), name, "\n".join(data), new_id
    )


def _field(draw: st.DrawFn, name: str, value: str) -> str:
    space = " " if value.startswith(" ") or draw(st.booleans()) else ""
    return f"{name}:{space}{value}"


def _expected(parts: list[Written]) -> list[Frame]:
    found, last_id = [], ""
    for part in parts:
        last_id = last_id if part.new_id is None else part.new_id
        if part.data or part.event not in ("", "message"):
            found.append(Frame(part.event or "message", part.data, last_id or None))
    return found


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, list[Frame]]:
    parts = draw(st.lists(written(), max_size=5))
    text, last_end = draw(st.sampled_from(["", "\ufeff"])), ""
    if not text:
        parts = [part for part in parts if not part.lines[0].startswith("\ufeff")]
    for line in (line for part in parts for line in part.lines):
        end = draw(st.sampled_from(ENDS))
        if last_end == "\r" and not line and end == "\n":
            end = "\r"  # an empty line between CR and LF cannot be written: that is CRLF
        text, last_end = text + line + end, end
    return text.encode(), _expected(parts)


@given(bodies(), st.lists(st.integers(min_value=0, max_value=400), max_size=8))
@settings(max_examples=300, deadline=None)
def test_any_mix_of_framings_in_any_chunks_reads_the_same(
    body: tuple[bytes, list[Frame]], cuts: list[int]
) -> None:
    data, expected = body
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert frames_of([data]) == expected
    assert frames_of(chunks) == expected
    assert frames_of(one_by_one(data)) == expected


@given(st.lists(st.binary(max_size=40), max_size=6))
@settings(max_examples=200, deadline=None)
def test_no_bytes_make_the_parser_fail(chunks: list[bytes]) -> None:
    assert frames_of(chunks) == frames_of(one_by_one(b"".join(chunks)))
