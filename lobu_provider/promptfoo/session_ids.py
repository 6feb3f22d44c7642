"""promptfoo's ``sessionId``: the thread, and how many calls promptfoo has made in it.

promptfoo hands the last ``sessionId`` back among the variables of the next call, and its cache
knows a call of a Python provider by prompt and variables. So each call in a thread returns another
one: a user who says the same twice would else be answered from the cache, and the agent not asked.
"""

from __future__ import annotations

import re
from typing import Final

_MARKED: Final = re.compile(r"(.+)~call([1-9][0-9]{0,8})", re.DOTALL)


def session_id_of(thread: str, call: int) -> str:
    """Return the ``sessionId`` of the ``call``-th call in a thread, from which both can be read.

    That of the first is the thread's own name, unless the name ends as if it were marked.
    """
    if call == 1 and _MARKED.fullmatch(thread) is None:
        return thread
    return f"{thread}~call{call}"


def read_session_id(session_id: str) -> tuple[str, int]:
    """Return the thread and the number of the call, which is 1 where none is told."""
    marked = _MARKED.fullmatch(session_id)
    return (session_id, 1) if marked is None else (marked[1], int(marked[2]))
