"""What a client is asked to do, and what it has to tell about it: one line of JSON each way."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Work:
    """Conversations to hold at the load gateway."""

    url: str
    agent: str
    """Says what each turn consists of; see ``load_gateway.mjs``."""
    conversations: int
    turns: int
    concurrency: int
    warmup: int
    """Conversations held before the clock starts."""


@dataclass(frozen=True)
class Measured:
    """What it took, and sums over all turns that show that the work was done."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    characters: int
    tool_calls: int


@dataclass
class Sums:
    """What the turns held."""

    characters: int = 0
    tool_calls: int = 0


Converse = Callable[[Work, Sums], Awaitable[None]]


def main(converse: Converse, around: AbstractAsyncContextManager[object] | None = None) -> None:
    """Do the work of the command line with a client that is written in Python; print the result.

    ``around`` is open as long as it lasts.
    """
    work = Work(**json.loads(sys.argv[1]))

    async def measured() -> Measured:
        async with around or nullcontext():
            return await _measure(work, converse)

    print(json.dumps(asdict(asyncio.run(measured()))))


async def _measure(work: Work, converse: Converse) -> Measured:
    await _run(work, work.warmup, converse)
    started_s, before_s = time.perf_counter(), time.process_time()
    sums = await _run(work, work.conversations, converse)
    return Measured(
        wall_s=time.perf_counter() - started_s,
        cpu_s=time.process_time() - before_s,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        characters=sums.characters,
        tool_calls=sums.tool_calls,
    )


async def _run(work: Work, count: int, converse: Converse) -> Sums:
    sums = Sums()
    tickets = iter(range(count))

    async def one_after_another() -> None:
        for _ in tickets:
            await converse(work, sums)

    await asyncio.gather(*(one_after_another() for _ in range(work.concurrency)))
    return sums
