"""Every text of the transforms; node_shim/test reads the same cases."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from lobu_provider.assertions.evidence import NoEvidenceError
from lobu_provider.assertions.evidence_text import MAX_TEXT
from lobu_provider.assertions.transforms import transform

CASES = json.loads(Path(__file__).with_name("golden_transforms.json").read_text(encoding="utf-8"))


def metadata_of(case: dict[str, Any]) -> Any:
    """The metadata of a case, with what ``grow`` names repeated so often."""
    metadata = copy.deepcopy(case["metadata"])
    for growth in case.get("grow", []):
        *way, last = growth["path"]
        holder = metadata
        for key in way:
            holder = holder[key]
        holder[last] = holder[last] * growth["times"]
    return metadata


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['transform']}: {case['name']}")
def test_the_text_is_that_of_javascript(case: dict[str, Any]) -> None:
    context = {"metadata": metadata_of(case), "vars": {}}
    before = copy.deepcopy(context)
    if "raises" in case:
        with pytest.raises(NoEvidenceError) as raised:
            transform(case["transform"], context)
        assert str(raised.value) == case["raises"]
        return
    text = transform(case["transform"], context)
    assert context == before
    if "expect" in case:
        assert text.split("\n") == case["expect"]
        return
    for mark in case["marks"]:
        assert mark in text
    assert len(text) == case["length"]
    assert hashlib.sha256(text.encode()).hexdigest() == case["sha256"]


@pytest.mark.parametrize("case", [case for case in CASES if "grow" in case])
def test_a_text_is_bounded_and_keeps_the_last_answer(case: dict[str, Any]) -> None:
    metadata = metadata_of(case)
    text = transform(case["transform"], {"metadata": metadata})
    assert len(text) <= MAX_TEXT + 1000
    assert f"> {metadata['turns'][-1]['output'][:4000]}" in text


@pytest.mark.parametrize("context", [None, {}, {"metadata": None}, [], "x"])
def test_no_transform_makes_a_text_of_nothing(context: Any) -> None:
    for name in ("retrievedContext", "evidence"):
        with pytest.raises(NoEvidenceError):
            transform(name, context)
