"""When a call has to end: by its own limit, and by promptfoo's where that has one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from lobu_provider.errors import error_for, failure

_HOST_MARGIN_S: Final = 5.0
"""How long before promptfoo's own limit a call ends: its answer must still travel."""

_HOST_MARGIN_SHARE: Final = 0.2
"""At most this part of it, where the limit itself is short. promptfoo's clock runs from before the
worker has read the call."""


class TimeLimit:
    """The deadline of one call.

    The call's own time stands still while it waits for other calls; promptfoo's does not.

    Args:
        timeout_s: the call's own limit.
        host_limit_s: promptfoo's limit, ``None`` where it has none.
        started_s: when the call began, on that clock; now, unless given.
        now_s: the clock, in seconds; the default needs a running event loop.
    """

    def __init__(
        self,
        timeout_s: float,
        host_limit_s: float | None = None,
        *,
        started_s: float | None = None,
        now_s: Callable[[], float] = anyio.current_time,
    ) -> None:
        self._now_s = now_s
        begin_s = now_s() if started_s is None else started_s
        self._host_limit_s = host_limit_s
        self._usable_s = math.inf
        if host_limit_s is not None:
            self._usable_s = host_limit_s - min(_HOST_MARGIN_S, host_limit_s * _HOST_MARGIN_SHARE)
        self._timeout_s = timeout_s
        self._own_deadline = begin_s + timeout_s
        self._host_deadline = begin_s + self._usable_s

    @property
    def deadline(self) -> float:
        """On the clock of ``anyio.current_time``, unless another was given."""
        return min(self._own_deadline, self._host_deadline)

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.deadline - self._now_s()

    @property
    def warning(self) -> str | None:
        """A sentence when promptfoo's limit comes before the call's own."""
        if self._timeout_s <= self._usable_s:
            return None
        return (
            f"timeoutMs is cut from {self._timeout_s * 1000:g} to {self._usable_s * 1000:g}: "
            f"promptfoo itself gives a call {self._host_limit_s:g} s (config.timeout or "
            "REQUEST_TIMEOUT_MS)."
        )

    @contextmanager
    def waiting_for_others(self) -> Iterator[None]:
        """Have the call's own time stand still inside the block.

        Raises:
            InfrastructureError: promptfoo's limit came before the wait ended.
        """
        before_s = self._now_s()
        with anyio.CancelScope(deadline=self._host_deadline) as scope:
            yield
        if scope.cancelled_caught:
            raise error_for(
                failure(
                    "timeout",
                    f"promptfoo's own limit of {self._host_limit_s:g} s for a call (config.timeout "
                    "or REQUEST_TIMEOUT_MS) ran out while this one waited for its turn "
                    "(maxConcurrentSessions, sessionStartGapMs, or a call on the same thread).",
                    phase="create",
                )
            )
        self._own_deadline += self._now_s() - before_s
