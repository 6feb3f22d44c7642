"""Run another program to its end, also when a signal is meant to end both."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

_PASSED_ON: Final = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


def run_to_end(
    command: Sequence[str], environment: Mapping[str, str], *, stdout: int | None = None
) -> tuple[int, int | None]:
    """Run a program and wait for it, so that it is never left behind.

    SIGTERM and SIGHUP are passed on, and the same one once more kills it. Ctrl-C reaches it from
    the terminal: it has all the time it takes to end in order.

    Args:
        command: program and arguments.
        environment: all of it.
        stdout: where its output goes, as for :class:`subprocess.Popen`.

    Returns:
        The exit code as a shell has it, 128 and the number for a signal; and the signal that this
        process was sent meanwhile, if any.

    Raises:
        OSError: it cannot be started.
    """
    received: list[int] = []
    with (
        _signals_to(received) as passed_on,
        subprocess.Popen(command, env=environment, stdout=stdout) as process,  # noqa: S603
    ):
        passed_on.append(process)
        for number in received:  # it came while the program was being started
            process.send_signal(number)
        code = process.wait()
    return (code if code >= 0 else 128 - code), (received[0] if received else None)


@contextmanager
def _signals_to(received: list[int]) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Note signals and pass them on to the processes that the yielded list then holds."""
    processes: list[subprocess.Popen[bytes]] = []

    def heed(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for process in processes if number != signal.SIGINT else ():
            process.send_signal(number) if received.count(number) == 1 else process.kill()

    numbers = [getattr(signal, name, None) for name in ("SIGINT", *_PASSED_ON)]
    heeded = [n for n in numbers if n is not None and signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heed) for number in heeded}
    try:
        yield processes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
