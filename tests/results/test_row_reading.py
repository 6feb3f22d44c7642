"""Rows of any shape are read: other providers and other versions write them too."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lobu_provider.results.baseline import baseline_lines
from lobu_provider.results.comparison import compare
from lobu_provider.results.explanation import explain, explanation_lines
from lobu_provider.results.junit import junit_lines
from lobu_provider.results.rerun import rerun_command
from lobu_provider.results.runs import Run

from .made_rows import FIXTURES, made, read

TEXT = (FIXTURES / "package-0.123.1.json").read_text("utf-8")
ROWS = json.loads(TEXT, parse_float=Decimal)["results"]["results"]  # as a stream gives them
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything inside a JSON value."""
    if not isinstance(value, (dict, list)):
        return []
    keys: Any = value if isinstance(value, dict) else range(len(value))
    inner = [(*path, key) for key in keys]
    return [p for one in inner for p in [one, *places(value[one[-1]], one)]]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A real row in which something is replaced by anything, or is missing."""
    row: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(ROWS)))
    *path, last = draw(st.sampled_from(places(row)))
    holder: Any = row
    for key in path:
        holder = holder[key]
    if draw(st.booleans()):
        holder[last] = draw(JSON)
    else:
        del holder[last]
    return row


@given(damaged())
def test_a_row_with_anything_anywhere_is_read_reported_and_explained(row: dict[str, Any]) -> None:
    run = Run(tuple(read(row | {"testIdx": 0}, made())), ())
    for lines in (junit_lines(run), baseline_lines(run), explanation_lines(explain(row))):
        assert "\n".join(lines)
    assert json.dumps(explain(row))
    assert len(compare(run.rows, run.rows).pairs) == 2
    assert rerun_command(row, [row])[0].startswith("promptfoo eval")


def test_a_turn_of_any_number_needs_no_room_of_its_own() -> None:
    (row,) = read(made(calls=[{"name": "a", "turn": 10**9}, {"name": "b", "turn": -1}]))
    assert row.turns is not None
    assert [call.name for turn in row.turns for call in turn] == ["b", "a"]
