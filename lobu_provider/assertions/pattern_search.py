"""Whether a pattern is found in a text, in time that grows with the text and not with its tries.

The engines of Python and JavaScript try one way after the other, for which ``(a+)+b`` takes longer
than anyone waits. Here a text is read once, from its end to its start, with the set of all places
in the pattern from which the rest of the text can be fitted: a place is reached or not, however
many ways lead to it. What was found out about a set and a character is kept.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final, Literal

MAX_PLACES: Final = 3_000
"""Places of a pattern, which repeats multiply."""

_MAX_KEPT: Final = 2000
"""Sets of places that are remembered."""

_WORD: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class TooLargeError(ValueError):
    """A pattern has more than :data:`MAX_PLACES` places."""


@dataclass(frozen=True)
class Characters:
    """One character out of ranges of code points, or one outside of them."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool = False

    def fits(self, character: str) -> bool:
        """Return whether a character is one of them."""
        code = ord(character)
        return any(low <= code <= high for low, high in self.ranges) != self.negated


@dataclass(frozen=True)
class Sequel:
    """Nodes one after the other."""

    nodes: Sequence[Node]


@dataclass(frozen=True)
class Choice:
    """One of several nodes."""

    nodes: Sequence[Node]


@dataclass(frozen=True)
class Repeat:
    """A node several times; ``most`` of ``None`` is any number."""

    node: Node
    least: int
    most: int | None


@dataclass(frozen=True)
class Look:
    """What follows fits a node, or does not; nothing of it is taken."""

    node: Node
    wanted: bool


@dataclass(frozen=True)
class At:
    """A place between characters: the text's ends, or the edge of a word or none."""

    kind: Literal["start", "end", "edge", "no edge"]


Node = Characters | Sequel | Choice | Repeat | Look | At


@dataclass(frozen=True)
class _Place:
    """A place in the pattern, and where it leads."""

    node: Node | None
    """What must hold here; ``None`` where several ways part, or where a fit is complete."""
    ways: list[int]
    start: int = -1
    """Of the pattern inside a :class:`Look`."""


class Search:
    """A pattern that can be looked for.

    Raises:
        TooLargeError: the pattern is too large.
    """

    def __init__(self, node: Node) -> None:
        self._places: list[_Place] = []
        self._layers: list[list[int]] = []
        """The places of each lookahead, inner ones first, and at last those of the whole."""
        self._open: list[list[int]] = []
        self._start = self._layer(node)
        self._before: list[list[int]] = [[] for _ in self._places]
        for number, place in enumerate(self._places):
            if not isinstance(place.node, Characters):
                for way in place.ways:
                    self._before[way].append(number)
        sets = {p.node for p in self._places if isinstance(p.node, Characters)}
        self._sets = list(sets)
        self._sees_neighbours = any(isinstance(place.node, At) for place in self._places)
        self._classes: dict[str, tuple[frozenset[Characters], bool]] = {}
        self._forget()

    def found_in(self, text: str) -> bool:
        """Return whether some part of a text fits."""
        alive = self._step(frozenset(), None, text[-1:], "")
        for index in range(len(text) - 1, -1, -1):
            if self._start in alive:
                return True
            character = text[index]
            before = text[index - 1 : index] if index and self._sees_neighbours else ""
            kind, is_word = self._class(character)
            edge = 0 if index == 0 else 2 if before in _WORD else 1
            key = (alive, kind, is_word, edge if self._sees_neighbours else 0)
            found = self._kept.get(key)
            if found is None:
                if len(self._kept) >= _MAX_KEPT:
                    self._forget()
                found = self._step(alive, kind, before, character)
                self._kept[key] = found = self._same.setdefault(found, found)
            alive = found
        return self._start in alive

    def _forget(self) -> None:
        self._kept: dict[tuple[Set[int], Set[Characters], bool, int], frozenset[int]] = {}
        self._same: dict[frozenset[int], frozenset[int]] = {}

    def _class(self, character: str) -> tuple[frozenset[Characters], bool]:
        """Which sets of the pattern a character is in, and whether it is one of a word."""
        found = self._classes.get(character)
        if found is None:
            fitting = frozenset(one for one in self._sets if one.fits(character))
            found = self._classes[character] = (fitting, character in _WORD)
        return found

    def _step(
        self, after: Set[int], kind: Set[Characters] | None, before: str, here: str
    ) -> frozenset[int]:
        """Return the places that can be fitted from one position on.

        Args:
            after: those of the next position.
            kind: the sets that the character here is in, ``None`` at the end of the text.
            before: the character before, empty at the start of the text.
            here: the character here.
        """
        alive: set[int] = set()
        for layer in self._layers:
            work = []
            for number in layer:
                node, ways = self._places[number].node, self._places[number].ways
                if isinstance(node, Characters):
                    if kind is not None and node in kind and ways[0] in after:
                        work.append(number)
                elif not ways:
                    work.append(number)
            while work:
                number = work.pop()
                if number not in alive:
                    alive.add(number)
                    work += [
                        one
                        for one in self._before[number]
                        if one not in alive and self._holds(one, alive, kind is None, before, here)
                    ]
        return frozenset(alive)

    def _holds(self, number: int, alive: Set[int], ended: bool, before: str, here: str) -> bool:
        place = self._places[number]
        if isinstance(place.node, Look):
            return (place.start in alive) == place.node.wanted
        if not isinstance(place.node, At):
            return True
        if place.node.kind == "start":
            return before == ""
        if place.node.kind == "end":
            return ended
        is_edge = (before in _WORD) != (not ended and here in _WORD)
        return is_edge == (place.node.kind == "edge")

    def _layer(self, node: Node) -> int:
        """Make the places of a pattern by itself; return the first."""
        self._open.append([])
        start = self._build(node, self._place(None, []))
        self._layers.append(self._open.pop())
        return start

    def _place(self, node: Node | None, ways: list[int], start: int = -1) -> int:
        if len(self._places) == MAX_PLACES:
            raise TooLargeError
        self._places.append(_Place(node, ways, start))
        self._open[-1].append(len(self._places) - 1)
        return len(self._places) - 1

    def _build(self, node: Node, then: int) -> int:
        """Make the places of a node that is followed by another; return the first."""
        if isinstance(node, Sequel):
            for one in reversed(node.nodes):
                then = self._build(one, then)
            return then
        if isinstance(node, Choice):
            return self._place(None, [self._build(one, then) for one in node.nodes])
        if isinstance(node, Repeat):
            return self._repeat(node, then)
        if isinstance(node, Look):
            return self._place(node, [then], self._layer(node.node))
        return self._place(node, [then])

    def _repeat(self, repeat: Repeat, end: int) -> int:
        then = end
        if repeat.most is None:
            then = self._place(None, [end])
            self._places[then].ways.append(self._build(repeat.node, then))
        for _ in range((repeat.most or 0) - repeat.least):
            then = self._place(None, [self._build(repeat.node, then), end])
        for _ in range(repeat.least):
            then = self._build(repeat.node, then)
        return then
