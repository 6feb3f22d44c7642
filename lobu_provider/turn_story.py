"""A turn's events, sorted into what a verdict and a fold look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from lobu_provider.blank import is_blank
from lobu_provider.events import Complete, Event, Output, TurnError

_E = TypeVar("_E", bound=Event)


class Story:
    """The events of one turn.

    Args:
        events: the turn's own, in order; what follows its ``complete`` came late.
        final_text_expected: the gateway is known to send ``finalText``.
    """

    def __init__(self, events: Sequence[Event], *, final_text_expected: bool) -> None:
        self.events = events
        self.final_text_expected = final_text_expected
        end = next((i for i, e in enumerate(events) if isinstance(e, Complete)), None)
        last = events[end] if end is not None else None
        self.complete = last if isinstance(last, Complete) else None
        before_end = events if end is None else events[:end]
        self.deltas = [event for event in before_end if isinstance(event, Output)]
        self.streamed_text = "".join(delta.content for delta in self.deltas)
        self.final_text = self.complete.final_text if self.complete is not None else None
        self.output = self.streamed_text if self.final_text is None else self.final_text
        self.errors = self.of(TurnError)

    def of(self, kind: type[_E]) -> list[_E]:
        """Return the events of one kind, the late ones included."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def first_text_s(self) -> float | None:
        """When the first visible text came, on the clock of the events."""
        for delta in self.deltas:
            if not is_blank(delta.content):
                return delta.received_s
        if self.complete is not None and not is_blank(self.final_text or ""):
            return self.complete.received_s
        return None
