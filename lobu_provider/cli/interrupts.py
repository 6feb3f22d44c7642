"""Ctrl-C, SIGTERM and SIGHUP while an event loop runs.

Not left to Python: before 3.11 the exception comes up wherever the loop happens to be, and what was
open there is not closed in order.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lobu_provider.abort import Abort


@contextmanager
def interruptible() -> Iterator[tuple[Abort, Callable[[], int]]]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into an :class:`Abort`, so that the session is deleted.

    Also yields a function that returns the exit code of the signal that came, or 0. A second
    signal does what it would have done without us.
    """
    abort = Abort()
    came: list[int] = []
    numbers = [signal.SIGINT, signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)  # not on Windows
    if hang_up is not None and signal.getsignal(hang_up) != signal.SIG_IGN:  # as under nohup
        numbers.append(hang_up)
    before = {number: signal.getsignal(number) for number in numbers}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def on_signal(number: int, frame: object) -> None:
        came.append(number)
        restore()
        abort.set()

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield abort, lambda: 128 + came[0] if came else 0
    finally:
        restore()
