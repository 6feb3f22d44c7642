"""What is printed of an answer, piece by piece, never holds a secret nor the half of one."""

from __future__ import annotations

import pytest

from lobu_provider.cli.answer_printer import AnswerPrinter
from lobu_provider.events import Output
from lobu_provider.turn import Turn

SECRET = "canary-of-a-session-0123456789"


def printed(
    capsys: pytest.CaptureFixture[str], *pieces: str, whole: str | None, secret: str = SECRET
) -> str:
    with AnswerPrinter([secret]) as printer:
        for piece in pieces:
            printer.on_event(Output(name="output", data={}, content=piece))
        if whole is not None:
            printer.finish(Turn("hi", output=whole))
    return capsys.readouterr().out.rstrip("\n")


def test_a_secret_that_begins_in_a_piece_and_ends_in_the_final_text_is_masked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = printed(capsys, "t " + SECRET[:15], whole=f"t {SECRET} end")
    assert told == "t *** end"


def test_half_a_secret_of_which_no_more_comes_is_masked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, "t " + SECRET[:15], whole=None) == "t ***"


def test_a_few_letters_that_a_secret_begins_with_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, "a can", whole="a can") == "a can"
    assert printed(capsys, "a can", whole="a can of beans") == "a can of beans"


def test_a_header_s_secret_without_its_scheme_is_masked_in_pieces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pieces = [SECRET[at : at + 5] for at in range(0, len(SECRET), 5)]
    assert printed(capsys, *pieces, whole=SECRET, secret=f"Bearer {SECRET}") == "***"
