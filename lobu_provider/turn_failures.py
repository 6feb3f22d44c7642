"""Tell why a turn failed, from the words a gateway uses.

Newer gateways (20.x) send an ``errorCode``; version 11 sends a sentence only, and one of its
failures, wrong provider credentials, looks like a successful answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from lobu_provider.blank import INVISIBLE
from lobu_provider.errors import ErrorClass, Failure, failure


class _Kind(NamedTuple):
    code: str
    error_class: ErrorClass | None = None
    retryable: bool | None = None
    advice: str = ""


_CAPACITY_ADVICE: Final = (
    "A gateway runs one worker per conversation and has a fixed number of them; "
    "lower promptfoo's -j, or restart the gateway to free workers."
)
_PROVIDER_ADVICE: Final = "Check the model provider that the agent uses at the gateway."

_BY_ERROR_CODE: Final[dict[str, _Kind]] = {
    "PROVIDER_QUOTA_EXHAUSTED": _Kind("rate_limit"),
    "PROVIDER_AUTH": _Kind("provider", advice=_PROVIDER_ADVICE),
    "PROVIDER_UNKNOWN_MODEL": _Kind("provider", advice="Check the model's name."),
    "PROVIDER_BASE_URL_UNRESOLVED": _Kind("provider", advice=_PROVIDER_ADVICE),
    "NO_MODEL_CONFIGURED": _Kind("provider", advice=_PROVIDER_ADVICE),
    "PROVIDER_TOOL_CALL_FAILED": _Kind("provider", retryable=True),
    "WORKER_UNRESPONSIVE": _Kind("worker"),
    "WORKER_DIED": _Kind("worker"),
    "WORKER_STARTUP_FAILED": _Kind("worker", advice=_CAPACITY_ADVICE),
    "SESSION_TIMEOUT": _Kind("timeout"),
}

_BY_SENTENCE: Final[tuple[tuple[re.Pattern[str], _Kind], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (r"^No script entry matches", _Kind("config")),  # the embedded gateway's own words
        (r"^Worker startup failed", _Kind("worker", advice=_CAPACITY_ADVICE)),
        (r"stopped (responding|unexpectedly) before it could reply", _Kind("worker")),
        (r"^SESSION_TIMEOUT$", _Kind("timeout")),
        (r'"status": \W*(session.)?time(d.?)?out', _Kind("timeout")),  # a whole event
        (r"^agent turn cancelled", _Kind("worker", retryable=False)),
        (r"^Message (rejected|blocked by guardrail)", _Kind("guardrail")),
        (r"^task_completion_empty", _Kind("empty")),
        (r"^task_completion_", _Kind("guardrail")),
        (r"^No model configured", _Kind("provider", advice=_PROVIDER_ADVICE)),
        (r"an admin needs to connect", _Kind("provider", advice=_PROVIDER_ADVICE)),
        (r"^429\b|\brate.?limit|\bquota\b|too many requests", _Kind("rate_limit")),
        (r"^(401|403)\b|invalid.{0,20}(api key|credentials)", _Kind("provider")),
        (r"^5\d\d\b|overloaded|socket connection was closed", _Kind("provider", retryable=True)),
        (r"^4\d\d\b|returned an error:", _Kind("provider")),
    )
)

# An error that nobody has classified is laid at the agent's door, so that people who set
# infrastructure failures aside still see it.
_UNKNOWN: Final = _Kind("worker", "agent", retryable=False)

_FAILED_ANSWERS: Final[tuple[tuple[re.Pattern[str], _Kind], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), kind)
    for pattern, kind in (
        (
            r"Your AI provider credentials are invalid or expired(?:\.|\s*$)",
            _Kind("provider", advice=_PROVIDER_ADVICE),
        ),
        (r"❌\ufe0f? ?Session failed(?::|\s*$)", _UNKNOWN),
        (r"💥\ufe0f? ?Worker crashed", _Kind("worker")),
        (r"Message (blocked by guardrail|rejected):(?:\s|$)", _Kind("guardrail")),
    )
)
"""How the texts begin that a gateway sends as the answer of a turn that it calls successful."""

_NOISE: Final = re.compile(
    r"(?:🔄|🗜)\ufe0f? ?\*(?:Retrying(?: \(attempt \d+/\d+\))?|Compacting context)(?:\.{3}|…)\*\s*"
)
"""Lines that the gateway itself streams between the agent's words."""

_MAX_ORNAMENTS: Final = 1000
"""How many notes, or characters of nothing, may stand before a failure text: an answer can be
millions of them."""

_MAX_SENTENCE: Final = 4000
"""Characters of an error by which it is classified."""

_MAX_BEGINNING: Final = 2000
"""Characters of an answer in which a failure text is looked for, once the ornaments are gone."""

_ORNAMENTS: Final = re.compile(rf"[*_>#`{INVISIBLE}]*")
_ORNAMENT: Final = re.compile(rf"{_NOISE.pattern}|[*_>#`{INVISIBLE}]")

_MAY_FAIL: Final = re.compile(
    rf"[*_>#`{INVISIBLE}]{{0,{_MAX_ORNAMENTS}}}(?:[❌💥🔄🗜]|Your AI |Message )", re.IGNORECASE
)
"""How every text begins that is worth a closer look; a turn can have very many pieces."""


def failure_of_error(text: str, error_code: str | None) -> Failure:
    """Classify an ``error`` event by its code, else by its sentence."""
    kind = _BY_ERROR_CODE.get(error_code or "") or _by_sentence(text[:_MAX_SENTENCE])
    said = text or error_code or "(no text)"
    coded = f" ({error_code})" if error_code and error_code not in said else ""
    return _failure(kind, f"The gateway ended the turn with an error{coded}: {said}")


def failure_of_answer(final_text: str | None, deltas: Sequence[str]) -> Failure | None:
    """Return the failure that a "successful" answer really is; ``None`` for an honest answer.

    Only a text that begins with one of the gateway's own sentences counts; an answer that merely
    mentions such words is an answer. Without a final text each streamed piece can be such a text,
    since a gateway that replaces an answer sends the new one as one more piece. Where the final
    text is no more than the pieces joined, the last one can be.

    Args:
        final_text: the gateway's ``finalText``, if it sent one.
        deltas: the streamed pieces, in order.
    """
    whole = "".join(deltas) if final_text is None else final_text
    pieces = dict.fromkeys(deltas) if final_text is None else ()
    for text in (whole, *pieces):
        found = _failure_in(text)
        if found is not None:
            return found
    found = _failure_in(_last_words(deltas)) if final_text is not None else None
    # The guardrail's words are an agent's too, and it replaces whole answers.
    if found is not None and found.code != "guardrail" and _are_joined(deltas, whole):
        return found
    rest, notes = _NOISE.subn("", whole)
    if notes and _ORNAMENTS.fullmatch(rest) is not None:
        return failure(
            "empty", "The answer holds only the gateway's own notes on its work.", phase="turn"
        )
    return None


def _last_words(deltas: Sequence[str]) -> str:
    """The last piece that is more than white space, markdown and notes of the gateway."""
    pieces = (one for one in reversed(deltas) if not _ORNAMENTS.fullmatch(_NOISE.sub("", one)))
    return next(pieces, "")


def _are_joined(deltas: Sequence[str], text: str) -> bool:
    return "".join(deltas).strip() == text.strip()


def holds_notices(text: str) -> bool:
    """Return whether a streamed text holds, somewhere, lines of the gateway's own."""
    return _NOISE.search(text) is not None or any(
        beginning.search(text) for beginning, _ in _FAILED_ANSWERS
    )


def _failure_in(text: str) -> Failure | None:
    if _MAY_FAIL.match(text) is None:
        return None
    return _own_words_of_the_gateway(_without_ornaments(text)[:_MAX_BEGINNING])


def _own_words_of_the_gateway(text: str) -> Failure | None:
    for beginning, kind in _FAILED_ANSWERS:
        if beginning.match(text):
            line = text.splitlines()[0]
            if kind is _UNKNOWN:
                kind = _by_sentence(line.partition(":")[2].strip())
            return _failure(kind, f"The gateway sent its own failure text as the answer: {line}")
    return None


def _without_ornaments(text: str) -> str:
    """The text from its first real character on: no notes of the gateway, spaces or markdown."""
    start = 0
    for _ in range(_MAX_ORNAMENTS):
        ornament = _ORNAMENT.match(text, start)
        if ornament is None:
            break
        start = ornament.end()
    return text[start:]


def _by_sentence(text: str) -> _Kind:
    for pattern, kind in _BY_SENTENCE:
        if pattern.search(text):
            return kind
    return _UNKNOWN


def _failure(kind: _Kind, message: str) -> Failure:
    return failure(
        kind.code,
        _sentences(message, kind.advice),
        phase="turn",
        error_class=kind.error_class,
        retryable=kind.retryable,
    )


def _sentences(message: str, advice: str) -> str:
    if not advice:
        return message
    end = "" if message.endswith((".", "!", "?", "…")) else "."
    return f"{message}{end} {advice}"
