"""A turn's events, sorted into what a verdict and a fold look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from lobu_provider.blank import is_blank
from lobu_provider.events import Complete, Event, Output, TurnError
from lobu_provider.json_safe import with_pairs_joined

_E = TypeVar("_E", bound=Event)


@dataclass(frozen=True)
class TurnRules:
    """What a turn is judged by, beside its events."""

    final_text_expected: bool = False
    """The gateway is known to send ``finalText``, so an end without it is a failure."""
    failure_texts: bool = True
    """A known failure sentence that is sent as an answer is a failure."""
    allow_empty: bool = False
    """A turn that ends without any text is an answer."""


class Story:
    """The events of one turn.

    Args:
        events: the turn's own, in order; what follows its ``complete`` came late.
        rules: what is known of the gateway, and what the user lets pass.
    """

    def __init__(self, events: Sequence[Event], rules: TurnRules) -> None:
        self.events = events
        self.rules = rules
        end = next((i for i, e in enumerate(events) if isinstance(e, Complete)), None)
        last = events[end] if end is not None else None
        self.complete = last if isinstance(last, Complete) else None
        self.final_text = self.complete.final_text if self.complete is not None else None
        self.errors = self.of(TurnError)
        # With several replicas a piece of text can come after the end; without a final text only
        # it tells. After an error it is an answer that nobody waited for.
        is_whole = end is None or (self.final_text is None and not self.errors)
        told = events if is_whole else events[:end]
        self.deltas = [event for event in told if isinstance(event, Output)]
        self.streamed_text = with_pairs_joined("".join(delta.content for delta in self.deltas))
        self.output = self.streamed_text if self.final_text is None else self.final_text

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
