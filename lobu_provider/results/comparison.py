"""What changed between two runs, test by test."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from lobu_provider.results.rows import Row
from lobu_provider.results.runs import Column, Test, group_tests
from lobu_provider.results.summary import Summary, Verdict, summarize
from lobu_provider.results.tool_changes import ToolChange, tool_changes

Change = Literal["regression", "fix", "unjudged", "judged again", "added", "removed", "same"]
"""``unjudged``: it was judged before and now nothing can be said; ``judged again``: the reverse."""

_ALIKE: Final = (
    ("checks", "metadata", "place"),
    ("checks", "metadata"),
    ("checks", "place"),
    ("checks",),
    ("metadata",),
    (),
)
"""What two tests that say the same must have in common, best first; at last only the order."""

_ORDER: Final[dict[Verdict, int]] = {"failing": 0, "flaky": 1, "stable": 2}


@dataclass(frozen=True)
class Pair:
    """A test before and now."""

    name: str
    column: Column
    old: Test | None
    new: Test | None
    before: Summary | None
    now: Summary | None
    change: Change
    tools: tuple[ToolChange, ...]

    @property
    def is_flip(self) -> bool:
        """Whether the share of passes moved without a change of verdict (flaky to flaky)."""
        return (
            self.change == "same"
            and self.before is not None
            and self.now is not None
            and self.before.rate != self.now.rate
        )


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side."""

    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]
    """How the tests were matched, where that is not plain."""

    def of(self, change: Change) -> list[Pair]:
        """Return the pairs with that change."""
        return [pair for pair in self.pairs if pair.change == change]


def compare(
    old: Iterable[Row], new: Iterable[Row], ignored: frozenset[str] = frozenset()
) -> Comparison:
    """Return what changed.

    Tests are matched by what they say, with the same provider and prompt; those that say the same
    by assertions and metadata, at last by their order. Where each run has one provider, or one
    prompt, it need not be the same: that is how two models are compared.

    Args:
        old: rows of the run before.
        new: rows of the run now.
        ignored: tool arguments to leave out.
    """
    notes: list[str] = []
    before, after = _aligned(group_tests(old), group_tests(new), notes)
    pairs = [_pair(one, two, ignored) for one, two in _matched(before, after)]
    return Comparison(tuple(pairs), tuple(notes))


def _aligned(old: list[Test], new: list[Test], notes: list[str]) -> tuple[list[Test], list[Test]]:
    """Give the columns of the old tests the new names where there is no doubt which is which."""
    for part, word in (("provider", "provider"), ("prompt", "prompt")):
        before = {getattr(test.column, part) for test in old}
        after = {getattr(test.column, part) for test in new}
        if len(before) == len(after) == 1 and before != after:
            (was,), (now,) = before, after
            notes.append(f"The {word} is another: {was} before, {now} now.")
            old = [replace(test, column=test.column._replace(**{part: now})) for test in old]
    return old, new


def _matched(old: list[Test], new: list[Test]) -> Iterator[tuple[Test | None, Test | None]]:
    """Yield the pairs in the order of the new run, then what was removed."""
    found: dict[int, int] = {}
    left = dict.fromkeys(range(len(old)))
    for parts in _ALIKE:
        waiting: dict[tuple[object, ...], deque[int]] = defaultdict(deque)
        for was in left:
            waiting[_key(old[was], parts)].append(was)
        for now, test in enumerate(new):
            if now not in found and (candidates := waiting.get(_key(test, parts))):
                found[now] = candidates.popleft()
                del left[found[now]]
    for now, test in enumerate(new):
        yield (old[found[now]] if now in found else None), test
    yield from ((old[was], None) for was in left)


def _key(test: Test, parts: Sequence[str]) -> tuple[object, ...]:
    return test.digest, test.column, *(getattr(test.identity, part) for part in parts)


def _pair(old: Test | None, new: Test | None, ignored: frozenset[str]) -> Pair:
    shown = new or old
    assert shown is not None  # noqa: S101 - _matched yields no empty pair
    before = summarize(old.rows) if old is not None else None
    now = summarize(new.rows) if new is not None else None
    tools: Sequence[ToolChange] = ()
    if old is not None and new is not None:
        tools = tool_changes(old.rows, new.rows, ignored)
    return Pair(shown.name, shown.column, old, new, before, now, _change(before, now), tuple(tools))


def _change(before: Summary | None, now: Summary | None) -> Change:
    if before is None or now is None:
        return "added" if before is None else "removed"
    if "unjudged" in (before.verdict, now.verdict):
        if before.verdict == now.verdict:
            return "same"
        return "unjudged" if now.verdict == "unjudged" else "judged again"
    difference = _ORDER[now.verdict] - _ORDER[before.verdict]
    if difference == 0:
        return "same"
    return "fix" if difference > 0 else "regression"
