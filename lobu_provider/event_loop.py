"""Run a coroutine to its end, and not one moment longer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def run(main: Coroutine[Any, Any, T], *, loop: asyncio.AbstractEventLoop | None = None) -> T:
    """Run ``main`` on a new event loop, as ``asyncio.run`` does but for one thing.

    That waits for the loop's threads, without a bound before Python 3.12, and so does the end of
    the process: a look-up of a host name that hangs would hold a call that has long had its answer.

    Args:
        main: the coroutine.
        loop: one that nobody uses; it is closed at the end. Default: a new one.
    """
    loop = asyncio.new_event_loop() if loop is None else loop
    try:
        asyncio.set_event_loop(loop)
        loop.set_default_executor(_DaemonThreads())
        return loop.run_until_complete(main)
    finally:
        try:
            _cancel_what_is_left(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _cancel_what_is_left(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))


class _DaemonThreads(ThreadPoolExecutor):
    """A new thread for each piece of work, which the end of the process does not wait for.

    That of a pool is always waited for. A subclass, as an event loop takes nothing else.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as exc:  # noqa: BLE001 - it is raised where the result is awaited
                future.set_exception(exc)
            else:
                future.set_result(result)

        threading.Thread(target=work, name="lobu-work", daemon=True).start()
        return future
