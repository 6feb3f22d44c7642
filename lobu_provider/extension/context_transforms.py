"""Make ``contextTransform: 'metadata.retrievedContext'`` of Lobu's documents work.

promptfoo evaluates it with ``output`` and ``context`` alone, so ``metadata`` is not defined; meant
is ``context.metadata``. extension.js of the npm package does the same; keep both alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lobu_provider.extension.suite import items, places
from lobu_provider.promptfoo.trace_assertions import flat_assertions

_KEY: Final = "contextTransform"
_BARE: Final = re.compile(r"(?<![\w.$'\"`])metadata(?=\s*(\.|\?\.|\[))")


def bare_transforms(suite: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the assertions whose transform names ``metadata`` alone, with the test's name."""
    return [
        (name, assertion)
        for name, place in places(suite)
        for assertion in flat_assertions(items(place.get("assert")))
        if isinstance(assertion, dict) and corrected(assertion.get(_KEY)) != assertion.get(_KEY)
    ]


def correct(found: list[tuple[str, dict[str, Any]]]) -> None:
    """Put ``context.`` before ``metadata`` in each of them, in the suite itself."""
    for _, assertion in found:
        assertion[_KEY] = corrected(assertion[_KEY])


def corrected(transform: Any) -> Any:
    """Return a transform with ``context.`` where it was forgotten; anything else as it is."""
    # A file, or statements that may define the name themselves, are not touched.
    if not isinstance(transform, str) or "\n" in transform or "://" in transform:
        return transform
    return _BARE.sub("context.metadata", transform)
