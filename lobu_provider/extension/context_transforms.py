"""Make ``contextTransform: 'metadata.retrievedContext'`` of Lobu's documents work.

promptfoo evaluates it with ``output`` and ``context`` alone, so ``metadata`` is not defined; meant
is ``context.metadata``. extension.js of the npm package does the same; keep both alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.extension.suite import default_test, named_tests, scenario_data

_KEY: Final = "contextTransform"
_BARE: Final = re.compile(r"(?<![\w.$'\"`])metadata(?=\s*(\.|\?\.|\[))")


def bare_transforms(suite: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the assertions whose transform names ``metadata`` alone, with the test's name."""
    places = [("defaultTest", default_test(suite)), *scenario_data(suite), *named_tests(suite)]
    return [
        (name, assertion)
        for name, place in places
        for assertion in _assertions(place.get("assert"))
        if _corrected(assertion.get(_KEY)) != assertion.get(_KEY)
    ]


def correct(found: list[tuple[str, dict[str, Any]]]) -> None:
    """Put ``context.`` before ``metadata`` in each of them, in the suite itself."""
    for _, assertion in found:
        assertion[_KEY] = _corrected(assertion[_KEY])


def _corrected(transform: Any) -> Any:
    # A file, or statements that may define the name themselves, are not touched.
    if not isinstance(transform, str) or "\n" in transform or "://" in transform:
        return transform
    return _BARE.sub("context.metadata", transform)


def _assertions(value: Any) -> Iterator[dict[str, Any]]:
    for assertion in value if isinstance(value, list) else ():
        if isinstance(assertion, dict):
            yield assertion
            yield from _assertions(assertion.get("assert"))  # of an assert-set
