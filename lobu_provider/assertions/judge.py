"""The way of every assertion: its config filled in and checked, the row read, the check run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lobu_provider.assertions import conversation_checks as about
from lobu_provider.assertions import tool_checks as tools
from lobu_provider.assertions.beside_config import misplaced, own_assertions
from lobu_provider.assertions.evidence import Evidence, NoEvidenceError, read_evidence
from lobu_provider.assertions.options import check_options
from lobu_provider.assertions.order_check import tool_order
from lobu_provider.assertions.outcome import Outcome, failed, grading
from lobu_provider.assertions.templates import fill
from lobu_provider.assertions.turn_groups import check_groups, judge_groups

Check = Callable[[Mapping[str, Any], Evidence], Outcome]

_RUN: Final[dict[str, Check]] = {
    "toolCalled": tools.tool_called,
    "toolNotCalled": tools.tool_not_called,
    "toolOrder": tool_order,
    "maxToolCalls": tools.max_tool_calls,
    "noToolErrors": tools.no_tool_errors,
    "completed": about.completed,
    "maxTurns": about.max_turns,
    "maxLatency": about.max_latency,
    "needsHuman": about.needs_human,
    "retrieved": about.retrieved,
    "maxTokens": about.max_tokens,
    "maxCost": about.max_cost,
}


class NegatedError(Exception):
    """The assertion's type begins with ``not-``, which would turn each failure into a pass."""


def judge(check: str, context: Any) -> dict[str, Any]:
    """Return promptfoo's grading result of one assertion.

    Args:
        check: a name of :data:`CHECKS`.
        context: what promptfoo hands an assertion.

    Raises:
        NegatedError: a grading result would be turned round, also that of a mistake.
    """
    given = context if isinstance(context, Mapping) else {}
    config = {} if given.get("config") is None else given["config"]
    test = given.get("test")
    listed = test.get("assert") if isinstance(test, Mapping) else None
    own = list(own_assertions(check, config, listed))
    _refuse_negation(check, own)
    unfilled: list[str] = []
    variables = given.get("vars")
    options = fill(config, variables if isinstance(variables, Mapping) else {}, unfilled)
    beside = dict.fromkeys(problem for one in own for problem in misplaced(check, one))
    problems = [*beside, *(unfilled or _problems(check, options))]
    if problems:
        return failed(f"{check}: the configuration is wrong: " + "\n".join(problems))
    try:
        evidence = read_evidence(context)
        if check == "turns":
            return judge_groups(options["turns"], evidence, _run)
        return grading(check, _run(check, options, evidence))
    except NoEvidenceError as exc:
        return failed(f"{check} failed: {exc}")


def _problems(check: str, options: Any) -> list[str]:
    problems = check_options(check, options)
    if check == "turns" and isinstance(options, Mapping) and "turns" in options:
        problems += check_groups(options["turns"])
    return problems


def _run(check: str, options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    turn = options.get("turn")
    return _RUN[check](options, evidence.of_turn(None if turn is None else int(turn)))


def _refuse_negation(check: str, own: Iterable[Mapping[str, Any]]) -> None:
    """Look for a type that begins with ``not-``; only the test's assertions say their type."""
    for assertion in own:
        kind = assertion["type"]
        if kind.startswith("not-"):
            raise NegatedError(
                f"lobu-provider: do not write {kind} with {check}: a mistake in the configuration "
                f"or a failed call would pass. {_INSTEAD.get(check, 'There is an option for it')}."
            )


_INSTEAD: Final = {
    "toolCalled": "Write toolNotCalled",
    "toolNotCalled": "Write toolCalled",
    "needsHuman": "Write expected: false",
    "turns": "Write the opposite of its checks, e.g. not-contains",
}
