"""The check about the order of tool calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lobu_provider.assertions.evidence import Call, Evidence
from lobu_provider.assertions.outcome import Outcome, gaps
from lobu_provider.assertions.values import show_list, times
from lobu_provider.assertions.wanted import (
    Wanted,
    closest_call,
    match,
    tools_called,
    unknown_arguments,
    wanted_steps,
)


def tool_order(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """The calls are the wanted ones, by one of four rules."""
    steps, mode = wanted_steps(options), options.get("mode", "inOrder")
    failures = _MODES[mode](steps, evidence.calls)
    called = tools_called(evidence.calls, evidence.where)
    if failures:
        return Outcome(called, [*failures, called])
    absent = mode in ("exact", "subset")  # these also say that nothing else was called
    return Outcome(called, gaps(evidence, options) if absent else [])


def _in_order(steps: Sequence[Wanted], calls: Sequence[Call]) -> list[str]:
    """Other calls may stand between."""
    start = 0
    for number, step in enumerate(steps):
        at = next((i for i in range(start, len(calls)) if step.fits(calls[i])), None)
        if at is None:
            if start == 0:
                return [_why_not(step, calls, "")]
            last = calls[start - 1]
            after = f" after {steps[number - 1].full_label} (call {last.number})"
            return [_why_not(step, calls[start:], after)]
        start = at + 1
    return []


def _exact(steps: Sequence[Wanted], calls: Sequence[Call]) -> list[str]:
    """These calls and no others."""
    failures = []
    if len(steps) != len(calls):
        wanted = show_list([step.full_label for step in steps])
        failures.append(f"expected exactly {times(len(steps), 'call')} {wanted}, got {len(calls)}")
    for number, (step, call) in enumerate(zip(steps, calls, strict=False), start=1):
        if not step.has_name(call.name):
            failures.append(f"step {number}: expected {step.full_label}, got {call.name}")
        elif not step.fits(call):
            failures.append(f"step {number}: {_why_not(step, [call], '')}")
    return failures


def _any_order(steps: Sequence[Wanted], calls: Sequence[Call]) -> list[str]:
    """Each step by a call of its own, in any order; other calls may be there."""
    taken: dict[int, int] = {}
    failures = []
    for number, step in enumerate(steps):
        if not _place(number, steps, calls, taken, set()):
            if any(step.fits(call) for call in calls):
                failures.append(f"{step.full_label} was called less often than listed")
            else:
                failures.append(_why_not(step, calls, ""))
    return failures


def _place(
    step: int,
    steps: Sequence[Wanted],
    calls: Sequence[Call],
    taken: dict[int, int],
    tried: set[int],
) -> bool:
    """Give a step a call, moving other steps to other calls where that is needed."""
    for index, call in enumerate(calls):
        if index in tried or not steps[step].fits(call):
            continue
        tried.add(index)
        if index not in taken or _place(taken[index], steps, calls, taken, tried):
            taken[index] = step
            return True
    return False


def _subset(steps: Sequence[Wanted], calls: Sequence[Call]) -> list[str]:
    """No call but the listed ones, any number of times."""
    failures = []
    for call in calls:
        if not any(step.fits(call) for step in steps):
            which = f"{call.name} (call {call.number}, turn {call.turn})"
            named = next((step for step in steps if step.has_name(call.name)), None)
            if named is None:
                failures.append(f"{which} is none of the listed tools")
            else:
                failures.append(f"{which}: {_why_not(named, [call], '')}")
    return failures


def _why_not(step: Wanted, calls: Sequence[Call], after: str) -> str:
    """Why no call is the one that a step wants."""
    matches = match(calls, step)
    if not matches.named:
        return f"{step.full_label} was not called{after}"
    if matches.unknown:
        return f"{step.full_label}: {unknown_arguments(matches)}"
    return f"{step.full_label} was not called{after}; {closest_call(matches.named, step)}"


_MODES: Final[dict[str, Callable[[Sequence[Wanted], Sequence[Call]], list[str]]]] = {
    "inOrder": _in_order,
    "exact": _exact,
    "anyOrder": _any_order,
    "subset": _subset,
}
