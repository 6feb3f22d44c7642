"""Files that cannot be read, and what the message says to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from lobu_provider.structured_file import UnreadableFileError, load_file, parse_yaml


def fix_of(text: str, *, strict: bool = False) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        parse_yaml(Path("c.yaml"), text, strict=strict)
    return caught.value.fix


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "tests:\n  - {vars: {query: How do refunds work?}}",
        "tests:\n  - {vars: {query: How? Tell me., other: 1}}",
        "a: [Is it ok?]",
        "a: {q: ?x}",
        "a: {q: http://x/?y=1}",
    ],
)
def test_a_question_without_quotes_in_brackets_is_named_as_the_cause(
    text: str, strict: bool
) -> None:
    fix = fix_of(text, strict=strict)
    assert "Put text that ends in or holds '?' inside {...} or [...] in quotes" in fix


@pytest.mark.parametrize("text", ["a: {q: 'x?', b", "a: [1, 2", "a: {q: x] }", "a: '?", "\tb: ?"])
def test_another_fault_has_the_general_advice(text: str) -> None:
    assert fix_of(text).startswith("Correct it there or just before")


def test_yes_and_no_are_text_and_true_and_false_are_not_as_promptfoo_reads_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "turns.yaml"
    path.write_text("[yes, No, on, OFF, y, true, False, null, 1]", "utf-8")
    assert load_file(path) == ["yes", "No", "on", "OFF", "y", True, False, None, 1]
