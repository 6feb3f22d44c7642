"""What is to be masked and stands in no JSON of a line: cut by streaming, or kept as it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lobu_provider.cassettes.masking import Masker
from lobu_provider.cassettes.odd_texts import data_of, rewritten, value_in, with_data


def mask_values(line: Mapping[str, Any], masker: Masker) -> str:
    """Return the text of a line, without what is to be hidden in the JSON that it holds.

    It stays as it is where nothing is. What is no JSON is not looked into.
    """
    text: str = line["text"]
    found = value_in(line)
    if found is None or not isinstance(found[0], (dict, list)):
        return text
    value, is_double = found
    try:
        masked = masker.reply(value) if "reply" in line else masker.json(value)
    except RecursionError:  # deeper than any reader goes
        return text
    # Of a key that is said twice the reader sees one value, and the text has both.
    return rewritten(line, masked) if masked != value or (is_double and masker.has_paths) else text


def mask_cut_texts(lines: Sequence[dict[str, Any]], masker: Masker) -> list[dict[str, Any]]:
    """Return lines without what the pieces of a streamed text hold together and none alone.

    Args:
        lines: of the whole cassette.
        masker: hides.
    """
    lines = list(lines)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, line in enumerate(lines):
        name, data = data_of(line) or ("", None)
        if not isinstance(data, Mapping) or not isinstance(data.get("content"), str):
            continue
        message = data.get("messageId") if isinstance(data.get("messageId"), str) else None
        # Once more without the stream: a text goes on where a connection was lost.
        for group in ((name, message, line.get("stream", 1)), (name, message)):
            groups.setdefault(group, []).append(number)
    for numbers in groups.values():
        if len(numbers) > 1:
            _mask_pieces(lines, numbers, masker)
    return lines


def _mask_pieces(lines: list[dict[str, Any]], numbers: Sequence[int], masker: Masker) -> None:
    values = [(data_of(lines[number]) or ("", {}))[1] for number in numbers]
    told = [value["content"] for value in values]
    whole = "".join(told)
    masked = masker.text(whole)
    if masked == "".join(masker.text(piece) for piece in told):
        return
    for number, value, piece in zip(numbers, values, _cut_again(told, whole, masked), strict=True):
        if piece != value["content"]:
            lines[number] = with_data(lines[number], {**value, "content": piece})


def _cut_again(told: Sequence[str], whole: str, masked: str) -> list[str]:
    """Cut a masked text where it was cut before; what is between the first and the last place that
    is another now comes with the piece in which the first one is."""
    begin = _common(whole, masked)
    rest, masked_rest = whole[begin:], masked[begin:]
    end = len(whole) - _common(rest[::-1], masked_rest[::-1])
    new = masked[begin : len(masked) - (len(whole) - end)]
    pieces, at = [], 0
    for piece in told:
        kept = [piece[: max(0, begin - at)], piece[max(0, end - at) :]]
        is_first = at <= begin < at + len(piece) or (begin == at + len(piece) == len(whole))
        pieces.append(kept[0] + (new if is_first else "") + kept[1])
        at += len(piece)
    return pieces


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))
