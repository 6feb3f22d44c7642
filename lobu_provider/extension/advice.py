"""What people forget in their tests, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lobu_provider.extension.suite import default_test, listed, named_tests, scenario_data


def advice(suite: Mapping[str, Any]) -> Iterator[str]:
    """Yield one sentence for each kind of omission in the tests of a suite."""
    tests = list(named_tests(suite))
    unjudged = [name for name, test in tests if not test.get("assert")]
    shared = [default_test(suite), *(data for _, data in scenario_data(suite))]
    if unjudged and not any(place.get("assert") for place in shared):
        yield (
            f"Without assertions a test passes whatever the agent answers: {listed(unjudged)}. "
            "Add 'assert' to the test or to defaultTest."
        )
    descriptions = [str(test.get("description") or "").strip() for _, test in tests]
    missing = [name for (name, _), text in zip(tests, descriptions, strict=True) if not text]
    if missing:
        yield (
            f"Without a description a result is hard to find: {listed(missing)}. "
            "Add 'description' to each test."
        )
    counted = Counter(text for text in descriptions if text and "{{" not in text)
    double = [repr(text) for text, count in counted.items() if count > 1]
    if double:
        yield (
            f"Several tests have the same description: {listed(double)}. "
            "Give each its own, or results cannot be told apart."
        )
