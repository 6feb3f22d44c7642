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
    send: Callable[[], Awaitable[T]],
    *,
    may_repeat: Callable[[Failure], bool] = lambda _: True,
    max_wait_s: float = MAX_RETRY_AFTER_S,
    repeats: int = 2,
) -> tuple[T, int]:
    """Call ``send``, and again at most twice while its failure is ``repeatable``.

    Args:
        send: the request.
        may_repeat: asked before each repeat.
        max_wait_s: the longest ``Retry-After`` that is waited for.
        repeats: how often it may be sent again.

    Returns:
        What ``send`` returned, and how often it was called.

    Raises:
        LobuError: what the last try raised. It is unclear when one of the tries was, and unsent
            when all were.
    """
    is_unclear, is_unsent = False, True
    for number, wait_s in enumerate((*WAITS_S[:repeats], None), start=1):
        try:
            return await send(), number
        except LobuError as exc:
            is_unclear = is_unclear or exc.failure.is_unclear
            is_unsent = is_unsent and exc.failure.is_unsent
            asked_s = exc.failure.retry_after_s or 0.0
            again = wait_s is not None and exc.failure.repeatable and may_repeat(exc.failure)
            if not again or asked_s > max_wait_s:
                told = _told(exc.failure, number, asked_s if asked_s > max_wait_s else 0.0)
                raise error_for(
                    replace(told, is_unclear=is_unclear, is_unsent=is_unsent)
                ) from exc.__cause__
            await anyio.sleep(max(wait_s or 0.0, asked_s))
    raise AssertionError("unreachable")


def _told(failed: Failure, tries: int, asked_s: float) -> Failure:
    message = failed.message
    if asked_s:
        message += f" It asks to be left alone for {asked_s:g} s."
    if tries > 1:
        message += f" Tried {tries} times."
    return replace(failed, message=message, tries=tries)
