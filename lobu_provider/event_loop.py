"""Run a coroutine to its end, and not one moment longer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T], *, loop: asyncio.AbstractEventLoop | None = None) -> T:
    """Run ``main`` on a new event loop, as ``asyncio.run`` does but for one thing.

    That waits for the loop's threads, without a bound before Python 3.12: a look-up of a host name
    that hangs would hold a call that has long had its answer.

    Args:
        main: the coroutine.
        loop: one that nobody uses; it is closed at the end. Default: a new one.
    """
    loop = asyncio.new_event_loop() if loop is None else loop
    try:
        asyncio.set_event_loop(loop)
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
