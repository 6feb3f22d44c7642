"""The checks about a conversation: its end, its length and time, people, retrieval, budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lobu_provider.assertions.evidence import Evidence
from lobu_provider.assertions.outcome import Outcome, gaps
from lobu_provider.assertions.patterns import compile_pattern
from lobu_provider.assertions.values import contains, is_number, show, show_list, times
from lobu_provider.assertions.wanted import list_of

_CARDS: Final = {"question": "question", "approval": "tool-approval", "link": "link-button"}
"""The cards that a person has to answer, by the name that a config gives them."""


def completed(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """The conversation came to its own end and waits for nobody."""
    failures = []
    for turn in evidence.turns:
        if turn.get("error") is not None:
            failures.append(f"turn {show(turn['turn'])} failed: {show(turn['error'])}")
        if turn.get("cutShort") is not None:
            failures.append(
                f"turn {show(turn['turn'])} was left before its end: {show(turn['cutShort'])}"
            )
    if not options.get("allowHuman", False):
        failures += _waiting(evidence)
    seen = f"{times(len(evidence.turns), 'turn')} ended normally"
    if evidence.turn is not None:
        seen = f"turn {evidence.turn} ended normally"
    return Outcome(seen, failures)


def _waiting(evidence: Evidence) -> list[str]:
    """What a person has to do. A question before the last turn was answered by the next message."""
    last = evidence.turns[-1]
    cards = [
        card
        for card in evidence.interactions
        if card.get("type") in ("tool-approval", "link-button")
        or (card.get("type") == "question" and card.get("turn") == last["turn"])
    ]
    if not cards and last.get("awaitingHumanDecision") is True:
        return [f"turn {show(last['turn'])} waits for a person"]
    return [
        f"turn {show(card.get('turn'))} waits for a person: {_describe(card)}" for card in cards
    ]


def _describe(card: Mapping[str, Any]) -> str:
    told = [f" {show(card[key])}" for key in _TELLING if isinstance(card.get(key), str)]
    kind = card.get("type")
    return f"{kind if isinstance(kind, str) else 'card'}{''.join(told[:1])}"


_TELLING: Final = ("question", "toolName", "label", "url", "content")
"""Where a card says what it is about."""


def max_turns(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """At most so many turns."""
    seen = f"{times(len(evidence.turns), 'turn')}, at most {show(options['max'])} allowed"
    return Outcome(seen, [seen] if len(evidence.turns) > options["max"] else [])


def max_latency(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """Each turn, and the whole, took at most so many milliseconds."""
    measured = [
        (f"turn {show(turn['turn'])} {what}", turn.get(field), options[key])
        for key, field, what in _LATENCIES
        if key in options
        for turn in evidence.turns
    ]
    if "totalMs" in options:
        total = evidence.response.get("latencyMs")
        measured.append(("the conversation took", total, options["totalMs"]))
    seen, failures = [], []
    for what, value, limit in measured:
        text = f"{what} {show(value)} ms, at most {show(limit)} allowed"
        seen.append(text)
        if not is_number(value):
            failures.append(f"{what} an unknown time: it is not in the metadata")
        elif value > limit:
            failures.append(text)
    return Outcome("; ".join(seen), failures)


_LATENCIES: Final = (
    ("turnMs", "latencyMs", "took"),
    ("firstTextMs", "firstTextMs", "began its text after"),
)
"""By option, where a turn has the time and what it is the time of."""


def needs_human(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """A card asks for a person; with ``expected: false`` none does."""
    kind = options.get("kind", "any")
    types = list(_CARDS.values()) if kind == "any" else [_CARDS[kind]]
    texts = list_of(options.get("contains", []))
    cards = [card for card in evidence.interactions if card.get("type") in types]
    found = [card for card in cards if all(_mentions(card, text) for text in texts)]
    flagged = kind == "any" and not texts and _awaits(evidence)
    asked = [_describe(card) for card in found] or (["a person's decision"] if flagged else [])
    where = evidence.where
    if options.get("expected", True):
        if asked:
            return Outcome(f"asked for {'; '.join(asked)}{where}")
        wanted = "a person" if kind == "any" else f"a person by {kind}"
        about = f" with {' and '.join(map(show, texts))}" if texts else ""
        others = "; ".join(_describe(card) for card in evidence.interactions) or "none"
        return Outcome("", [f"nothing asked for {wanted}{about}{where}; cards were: {others}"])
    if asked:
        return Outcome("", [f"asked for {'; '.join(asked)}{where}"])
    return Outcome(f"nothing asked for a person{where}", gaps(evidence, options, "cards"))


def _awaits(evidence: Evidence) -> bool:
    return any(turn.get("awaitingHumanDecision") is True for turn in evidence.turns)


def _mentions(card: Mapping[str, Any], text: str) -> bool:
    return any(contains(one, text) for one in _strings(card))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def retrieved(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """Snippets were retrieved, and some hold what is wanted."""
    snippets, where = evidence.snippets, evidence.where
    failures = []
    least = options.get("min", 1)
    found = f"{times(len(snippets), 'snippet')} {'was' if len(snippets) == 1 else 'were'} retrieved"
    if len(snippets) < least:
        failures.append(f"{found}{where}, expected at least {show(least)}")
    for text in list_of(options.get("contains", [])):
        if not any(contains(snippet, text) for snippet in snippets):
            failures.append(f"no snippet{where} contains {show(text)}")
    if "regex" in options:
        flags = options.get("flags", "")
        pattern = compile_pattern(options["regex"], flags)
        if not any(pattern.found_in(snippet) for snippet in snippets):
            failures.append(f"no snippet{where} matches /{options['regex']}/{flags}")
    if failures and snippets:
        failures.append(f"snippets were {show_list([show(text, 120) for text in snippets])}")
    if failures and evidence.cut & {"retrievedSnippets", "toolCalls[].result_summary"}:
        failures.append("snippets were cut to keep the row small (raise maxMetadataKb)")
    return Outcome(f"{found}{where}", failures)


def max_tokens(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """The tokens used are within a budget."""
    usage = evidence.response.get("tokenUsage")
    return _budget(options, usage.get("total") if isinstance(usage, Mapping) else None, "tokens")


def max_cost(options: Mapping[str, Any], evidence: Evidence) -> Outcome:
    """The cost is within a budget."""
    return _budget(options, evidence.response.get("cost"), "cost")


def _budget(options: Mapping[str, Any], value: Any, what: str) -> Outcome:
    if not is_number(value) or value <= 0:  # no turn takes none: promptfoo fills in zeros
        unknown = f"{what} unknown: the gateway reported none"
        if options.get("whenUnknown", "fail") == "skip":
            return Outcome(f"skipped, {unknown}")
        return Outcome("", [f"{unknown} (whenUnknown: skip accepts that)"])
    seen = f"{what} {show(value)}, at most {show(options['max'])} allowed"
    return Outcome(seen, [seen] if value > options["max"] else [])
