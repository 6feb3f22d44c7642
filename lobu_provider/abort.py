"""Abort: a flag that a signal handler or another thread sets to stop a running call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Abort:
    """Set once, from anywhere; whoever listens is told once."""

    def __init__(self) -> None:
        self._is_set = False
        self._listeners: list[Callable[[], object]] = []

    @property
    def is_set(self) -> bool:
        """Whether the call is to stop."""
        return self._is_set

    def set(self) -> None:
        """Ask the call to stop. Idempotent; safe in a signal handler and from other threads."""
        self._is_set = True
        while True:
            try:
                callback = self._listeners.pop()
            except IndexError:  # not asked beforehand: a signal can come between question and pop
                return
            callback()

    @contextmanager
    def listening(self, callback: Callable[[], object]) -> Iterator[None]:
        """Have ``callback`` called when the flag is set, at once if it is set already.

        The callback runs wherever :meth:`set` is called; for an event loop see
        :meth:`cancelling`.
        """
        self._listeners.append(callback)
        if self._is_set:
            self.set()
        try:
            yield
        finally:
            if callback in self._listeners:
                self._listeners.remove(callback)

    @contextmanager
    def cancelling(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Have the running event loop call ``cancel``, e.g. of a scope, when the flag is set."""
        from asyncio import get_running_loop  # where there is a loop it is loaded already

        loop = get_running_loop()
        with self.listening(lambda: loop.call_soon_threadsafe(cancel)):
            yield
