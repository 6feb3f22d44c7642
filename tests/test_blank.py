"""Text in which a reader sees nothing."""

from __future__ import annotations

import unicodedata

from lobu_provider.blank import is_blank
from lobu_provider.turn_failures import failure_of_answer

FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0"


def test_the_invisible_characters_are_the_spaces_controls_formats_and_fillers_of_unicode() -> None:
    for character in map(chr, range(0x110000)):
        category = unicodedata.category(character)
        if category == "Cn":  # an older Python may not know it
            continue
        expected = category in ("Cc", "Cf", "Zs", "Zl", "Zp") or character in FILLERS
        assert is_blank(character) == expected, f"U+{ord(character):04X}"


def test_a_text_is_blank_when_each_of_its_characters_is() -> None:
    assert is_blank("")
    assert is_blank("\u200b \n\ufeff")
    assert not is_blank("\u200b x")


def test_millions_of_characters_of_nothing_are_seen_at_once() -> None:
    # One by one they take longer than a test may.
    assert is_blank("\u200b" * 40_000_000)
    assert failure_of_answer("#" * 60_000_000, []) is None
    assert failure_of_answer(None, ["#"] * 10_000_000) is None
