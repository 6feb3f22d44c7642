"""The checks about tool calls: which, how many, with which arguments, without errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lobu_provider.assertions.evidence import Call, Evidence
from lobu_provider.assertions.outcome import Outcome, gaps
from lobu_provider.assertions.values import show, show_list, times
from lobu_provider.assertions.wanted import (
    Matches,
    Wanted,
    alike_calls,
    closest_call,
    list_of,
    match,
    tools_called,
    unknown_arguments,
    wanted_tools,
)


def tool_called(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """Each wanted tool was called, as often as wanted."""
    least = int(options.get("times", options.get("min", 1)))
    most = options.get("times", options.get("max"))
    seen, failures = [], []
    for wanted in wanted_tools(options):
        matches = match(evidence.calls, wanted)
        seen.append(f"{wanted.full_label} was called {_count(matches)}{evidence.where}")
        failure = _called_otherwise(matches, wanted, least, most, evidence)
        if failure is not None:
            failures.append(failure)
        elif most is not None and len(matches.matched) + len(matches.alike) > most:
            failures += alike_calls(matches, wanted)
        if most is not None:
            failures += _in_attempts(wanted, evidence)
    if most is not None and not failures:
        failures += gaps(evidence, options)
    elif failures and evidence.holes:
        failures.append(f"tool calls may be missing: {'; '.join(evidence.holes)}")
    return Outcome("; ".join(seen), failures)


def _count(matches: Matches) -> str:
    count = times(len(matches.matched))
    others = len(matches.named) - len(matches.matched)
    return f"{count}, and {times(others)} with other arguments" if others else count


def _called_otherwise(
    matches: Matches, wanted: Wanted, least: int, most: float | None, evidence: Evidence
) -> str | None:
    """What is wrong with the number of calls, or ``None``."""
    sure, possible = len(matches.matched), len(matches.matched) + len(matches.unknown)
    if sure >= least and (most is None or possible <= most):
        return None
    label, where = wanted.full_label, evidence.where
    if not matches.named:
        return f"{label} was not called{where}; {tools_called(evidence.calls, where)}"
    if matches.unknown and possible >= least and (most is None or sure <= most):
        return f"{label}: {unknown_arguments(matches)}"
    expected = _expected(least, most)
    if wanted.arguments is None or sure > least:
        return (
            f"{label} was called {times(sure)}{where}, expected {expected}; "
            f"{tools_called(evidence.calls, where)}"
        )
    called = f"{wanted.label} was called {times(len(matches.named))}{where}"
    matched = "no call" if sure == 0 else f"only {times(sure, 'call')}"
    if len(matches.named) > sure:
        closest = f"; {closest_call(_others(matches), wanted)}" if _known(matches) else ""
        return (
            f"{called}, but {matched} matched the arguments {show(wanted.arguments)}"
            f"{'' if (least, most) == (1, None) else f', expected {expected}'}{closest}"
        )
    return f"{called} with the arguments {show(wanted.arguments)}, expected {expected}"


def _others(matches: Matches) -> list[Call]:
    return [call for call in matches.named if call not in matches.matched]


def _known(matches: Matches) -> bool:
    return any(call.input_state != "not sent" for call in _others(matches))


def _expected(least: int, most: float | None) -> str:
    if most is None:
        return f"at least {times(least)}"
    if most == least:
        return f"exactly {times(least)}"
    return f"{least} to {times(int(most))}"


def tool_not_called(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """None of the wanted tools was called."""
    seen, failures = [], []
    for wanted in wanted_tools(options):
        matches = match(evidence.calls, wanted)
        seen.append(f"{wanted.full_label} was not called{evidence.where}")
        for call in matches.matched:
            failures.append(
                f"{wanted.full_label} was called (call {call.number}, turn {call.turn}) "
                f"with {_sent(call)}"
            )
        if matches.unknown:
            failures.append(f"{wanted.full_label}: {unknown_arguments(matches)}")
        failures += alike_calls(matches, wanted)
        failures += _in_attempts(wanted, evidence)
    return Outcome("; ".join(seen), failures or gaps(evidence, options))


def _sent(call: Call) -> str:
    if call.input_state == "not sent":
        return "an input that the gateway did not send"
    return show(call.arguments)


def _in_attempts(wanted: Wanted, evidence: Evidence) -> list[str]:
    """What was called before the case was repeated; arguments of such calls are not kept."""
    found = []
    for attempt in evidence.attempts:
        names = attempt.get("toolCalls")
        called = (
            [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        )
        if any(wanted.has_name(name) for name in called):
            number = show(attempt.get("attempt"))
            found.append(
                f"{wanted.label} was called in attempt {number}, which failed and was repeated; "
                f"tools called there were {show_list(called)}"
            )
    return found


def max_tool_calls(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """At most so many calls, of all tools or of some."""
    most = options["max"]
    tools = wanted_tools(options)
    calls = [call for call in evidence.calls if any(tool.has_name(call.name) for tool in tools)]
    which = " or ".join(tool.label for tool in tools)
    kind = "tool calls" if which == "any tool" else f"calls of {which}"
    seen = f"{len(calls)} {kind}{evidence.where}, at most {show(most)} allowed"
    if len(calls) > most:
        return Outcome(seen, [f"{seen}; {tools_called(evidence.calls, evidence.where)}"])
    return Outcome(seen, gaps(evidence, options))


def no_tool_errors(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """No call failed, in either of the ways that gateways tell it."""
    tools = wanted_tools(options)
    exact = options.get("exactName", False)
    excepted = wanted_tools({"tool": list_of(options.get("except", [])), "exactName": exact})
    judged = [
        call
        for call in evidence.calls
        if any(wanted.has_name(call.name) for wanted in tools)
        and not any(wanted.has_name(call.name) for wanted in excepted)
    ]
    failures = [text for call in judged if (text := _tool_error(call)) is not None]
    cut = judged and "toolCalls[].result_summary" in evidence.cut
    if cut and not failures and not options.get("allowGaps", False):
        failures.append(
            "results of tools were cut to keep the row small (raise maxMetadataKb), so errors may "
            "be missing (allowGaps: true accepts that)"
        )
    seen = f"{times(len(judged), 'tool call')}{evidence.where}, none failed"
    return Outcome(seen, failures or gaps(evidence, options))


def _tool_error(call: Call) -> str | None:
    which = f"{call.name} (call {call.number}, turn {call.turn})"
    error = call.summary.get("error") if isinstance(call.summary, Mapping) else None
    if error is not None:
        return f"{which} failed: {error if isinstance(error, str) else show(error)}"
    if call.is_error is False:
        return None
    if call.is_error is True:
        return f"{which} failed; the gateway did not send the reason"
    return f"{which}: the gateway did not say whether it failed"
