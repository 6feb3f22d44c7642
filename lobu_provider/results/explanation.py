"""One row in full: what was said, which tools were called, what each check found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.json_safe import json_safe
from lobu_provider.results.documents import plain
from lobu_provider.results.identity import identity_of
from lobu_provider.results.outcomes import (
    Check,
    checks_of,
    error_of,
    is_told_by,
    items,
    mapping,
    metadata_of,
    number,
    outcome_of,
    threw_in_a_check,
)
from lobu_provider.results.row_reading import provider_of
from lobu_provider.results.texts import json_shown, reason, shown

_IDS: Final = ("thread", "sessionId", "gatewaySessionId", "traceId")
_MOST_TEXT: Final = 1500
_MOST_ARGUMENTS: Final = 400


def explain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row of promptfoo's tells, under the names of ``--json``, without secrets."""
    metadata = metadata_of(row)
    error = row.get("error")
    outcome = outcome_of(row)
    turns = _turns(row, metadata)
    return {
        "test": identity_of(row).name,
        "provider": provider_of(row),
        "prompt": shown(str(mapping(row.get("prompt")).get("label", "")), 200),
        "outcome": outcome,
        "error": reason(error, _MOST_TEXT) if isinstance(error, str) and error else None,
        "fault": json_safe(plain(dict(error_of(row)))) or None,
        "score": number(row.get("score")),
        "latencyMs": number(row.get("latencyMs")),
        "turns": turns,
        "noTurns": None if turns else _why_no_turns(row, outcome),
        "checks": [_check(check) for check in checks_of(row)],
        "interactions": [
            json_shown(card, _MOST_ARGUMENTS) for card in items(metadata.get("interactions"))
        ],
        "warnings": [shown(text) for text in _texts(metadata.get("warnings"))],
        "attempts": [json_shown(attempt) for attempt in items(metadata.get("attempts"))],
        "ids": {key: shown(str(metadata[key]), 300) for key in _IDS if metadata.get(key)},
    }


def _check(check: Check) -> dict[str, Any]:
    value = check.value
    if check.turn is not None and isinstance(value, str) and value.startswith("{"):
        given: str | None = shown(value, _MOST_ARGUMENTS)  # options, as JSON already
    elif isinstance(value, str) and value.startswith("file://"):  # folders differ by machine
        given = json_shown(re.split(r"[/\\]", value)[-1], _MOST_ARGUMENTS)
    else:
        given = _optional(value)
    return {
        "type": check.kind,
        "turn": check.turn,
        "value": given,
        "config": _optional(check.config),
        "verdict": "broken" if check.broken else "passed" if check.passed else "failed",
        "score": check.score,
        "reason": reason(check.reason, _MOST_TEXT),
    }


def _optional(value: Any) -> str | None:
    return json_shown(value, _MOST_ARGUMENTS) if value is not None else None


def _turns(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls, turns = items(metadata.get("toolCalls")), items(metadata.get("turns"))
    if not turns and _is_untold(row):
        return []
    if not turns:
        said = mapping(row.get("prompt")).get("raw")
        output = mapping(row.get("response")).get("output")
        turns = [{"turn": 1, "user": said, "output": output}]
    return [_turn(turn, place, calls) for place, turn in enumerate(turns, start=1)]


def _is_untold(row: Mapping[str, Any]) -> bool:
    """Whether nothing tells what was said: the call failed before its first turn, or promptfoo
    kept no response. The prompt is not it where the test has turns of its own."""
    return bool(error_of(row)) or not mapping(row.get("response"))


def _why_no_turns(row: Mapping[str, Any], outcome: str) -> str:
    if error_of(row).get("phase") in ("config", "create"):
        return "nothing was sent to the agent"
    if outcome == "not run":  # promptfoo writes the same of a call that still ran
        return "promptfoo ended the run before this row's answer; what was sent is not told"
    if threw_in_a_check(row):
        return "promptfoo keeps no answer where a check threw"
    return "the results do not tell what was said"


def _turn(turn: Mapping[str, Any], place: int, calls: list[Mapping[str, Any]]) -> dict[str, Any]:
    told = {
        "turn": place,
        "user": _text(turn.get("user")),
        "tools": [_call(call) for call in calls if number(call.get("turn")) in (place, None)],
        "output": _text(turn.get("output")),
        "latencyMs": number(turn.get("latencyMs")),
        "traceId": _text(turn.get("traceId")),
        "error": _text(turn.get("error")),
        "cutShort": _text(turn.get("cutShort")),
        "reconnects": number(turn.get("reconnects")),
    }
    return {key: value for key, value in told.items() if value is not None}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    told = {
        "name": shown(str(call.get("name") or "(no name)"), 200),
        "arguments": _optional(call.get("input")),
        "isError": call.get("isError") is True,
        "result": _optional(call.get("result_summary")),
    }
    return {key: value for key, value in told.items() if value is not None}


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return shown(value, _MOST_TEXT) if isinstance(value, str) else json_shown(value, _MOST_TEXT)


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def transcript_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conversation of an explained row, a line for each thing that happened."""
    if told["noTurns"]:
        yield told["noTurns"]
    for turn in told["turns"]:
        timing = f" ({turn['latencyMs']:,.0f} ms)" if "latencyMs" in turn else ""
        yield f"turn {turn['turn']}{timing}"
        yield f"  user:  {_indented(turn.get('user', ''))}"
        for call in turn["tools"]:
            failed = " ERROR" if call["isError"] else ""
            yield f"  tool:  {call['name']} {call.get('arguments', '')}{failed}"
            if "result" in call and failed:
                yield f"         {call['result']}"
        yield f"  agent: {_indented(turn.get('output', '(nothing)') or '(nothing)')}"
        for key, words in (("error", "failed"), ("cutShort", "left early")):
            if key in turn:
                yield f"  {words}: {turn[key]}"


def explanation_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Yield an explained row as text for one screen."""
    yield f"{told['outcome'].upper()}: {told['test']}"
    yield f"provider: {told['provider']}" + (
        f"   prompt: {told['prompt']}" if told["prompt"] else ""
    )
    if told["fault"]:
        words = ", ".join(f"{key} {value}" for key, value in told["fault"].items())
        yield f"fault: {words}"
    if told["error"] and told["outcome"] != "passed" and not _is_told_by_a_check(told):
        yield f"error: {_indented(told['error'])}"
    yield ""
    yield from transcript_lines(told)
    yield from (f"  card:  {card}" for card in told["interactions"])
    yield ""
    if not told["checks"]:
        yield "checks: none gave a verdict"
    for check in told["checks"]:
        given = "".join(f" {check[key]}" for key in ("value", "config") if check[key] is not None)
        about = f"turn {check['turn']}: " if check["turn"] is not None else ""
        yield f"{check['verdict']}: {about}{check['type']}{given}"
        if check["verdict"] != "passed":
            yield f"  {_indented(check['reason'])}"
    for name in ("warnings", "attempts"):
        yield from (f"{name[:-1]}: {text}" for text in told[name])
    yield ""
    yield from (f"{key}: {value}" for key, value in told["ids"].items())


def _is_told_by_a_check(told: Mapping[str, Any]) -> bool:
    bad = (check["reason"] for check in told["checks"] if check["verdict"] != "passed")
    return is_told_by(told["error"], bad)


def _indented(text: str) -> str:
    return text.replace("\n", "\n         ")
