"""Send a request again where that is safe."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeVar

import anyio

from lobu_provider.errors import Failure, LobuError, error_for

WAITS_S: Final = (0.5, 1.0)
"""Before each repeat."""

MAX_RETRY_AFTER_S: Final = 10.0
"""Whoever asks for a longer wait gets no repeat."""

T = TypeVar("T")


async def repeated(
    send: Callable[[], Awaitable[T]], *, may_repeat: Callable[[Failure], bool] = lambda _: True
) -> T:
    """Call ``send``, and again at most twice while its failure is ``repeatable``.

    Args:
        send: the request.
        may_repeat: asked before each repeat.

    Raises:
        LobuError: what the last try raised.
    """
    for number, wait_s in enumerate((*WAITS_S, None), start=1):
        try:
            return await send()
        except LobuError as exc:
            asked_s = exc.failure.retry_after_s or 0.0
            again = wait_s is not None and exc.failure.repeatable and may_repeat(exc.failure)
            if not again or asked_s > MAX_RETRY_AFTER_S:
                raise _counted(exc, number, asked_s) from exc.__cause__
            await anyio.sleep(max(wait_s or 0.0, asked_s))
    raise AssertionError("unreachable")


def _counted(error: LobuError, tries: int, asked_s: float) -> LobuError:
    message = error.failure.message
    if asked_s > MAX_RETRY_AFTER_S:
        message += f" It asks to be left alone for {asked_s:g} s."
    if tries > 1:
        message += f" Tried {tries} times."
    return (
        error
        if message == error.failure.message
        else error_for(replace(error.failure, message=message))
    )
