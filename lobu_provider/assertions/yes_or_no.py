"""A scoring function for promptfoo: what a model graded counts whole or not at all.

promptfoo adds up the fractions that grading models give, so that with a threshold a failed rubric
of score 0.6 can pass a test. Here each graded assertion is 1 when it passed, else 0; the others
keep their scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.assertions.model_graded import MODEL_GRADED
from lobu_provider.assertions.values import is_number, number_text

_ROUNDING: Final = 1e-9


def count_yes_or_no(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdict of a test.

    Args:
        context: promptfoo's second argument: ``componentResults`` and ``threshold``.

    Raises:
        ValueError: there is no threshold to hold the score against, or nothing was judged.
    """
    threshold = context.get("threshold")
    if not is_number(threshold):
        raise ValueError("lobu-provider: countYesOrNo needs a threshold at the test")
    results = list(_outer(context.get("componentResults")))
    weights = [_weight(result) for result in results]
    if not sum(weights) > 0:
        raise ValueError("lobu-provider: countYesOrNo found no assertion that counts")
    scores = [_score(result) for result in results]
    score = sum(s * w for s, w in zip(scores, weights, strict=True)) / sum(weights)
    passed = score >= threshold - _ROUNDING
    failed = [str(result.get("reason", "")) for result in results if not result.get("pass")]
    said = f"Score {number_text(round(score, 4))}, threshold {number_text(threshold)}"
    return {"pass": passed, "score": score, "reason": "\n".join([said, *failed])}


def _outer(results: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the results of the test's own assertions; promptfoo puts their parts behind them."""
    waiting = 0
    for result in results if isinstance(results, list) else []:
        if waiting:
            waiting -= 1
            continue
        if not isinstance(result, Mapping):
            raise ValueError("lobu-provider: countYesOrNo: an assertion has no result")
        parts = result.get("componentResults")
        waiting = len(parts) if isinstance(parts, list) else 0
        yield result


def _assertion(result: Mapping[str, Any]) -> Mapping[str, Any]:
    assertion = result.get("assertion")
    return assertion if isinstance(assertion, Mapping) else {}


def _weight(result: Mapping[str, Any]) -> float:
    weight = _assertion(result).get("weight", 1)
    return weight if is_number(weight) else 1


def _score(result: Mapping[str, Any]) -> float:
    kind = str(_assertion(result).get("type", "")).removeprefix("not-")
    if kind in MODEL_GRADED:
        return 1 if result.get("pass") is True else 0
    score = result.get("score")
    return score if is_number(score) else 0
