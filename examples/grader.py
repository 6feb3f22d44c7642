"""A stand-in for a model as promptfoo's grader: deterministic, offline, by comparing words.

Real suites name a model here instead, e.g. ``provider: anthropic:messages:...``. This one knows
what ``context-recall``, ``context-faithfulness``, ``context-relevance`` and ``llm-rubric`` ask for.
A rubric is met when the text holds each phrase that the rubric puts in double quotes; one without
such a phrase is never met.
"""

from __future__ import annotations

import json
import re
from typing import Any


def call_api(prompt: str, options: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """Answer as a grading model would; what is asked shows in the variables of the prompt."""
    given = context["vars"]
    if "rubric" in given:
        return {"output": rubric(str(given["output"]), str(given["rubric"]))}
    if "groundTruth" in given:
        return {"output": recall(str(given["context"]), str(given["groundTruth"]))}
    if "statements" in given:
        return {"output": verdicts(str(given["context"]), given["statements"])}
    if "answer" in given:
        return {"output": "\n".join(sentences(str(given["answer"])))}
    return {"output": relevant(str(given["context"]), str(given["query"]))}


def rubric(text: str, wanted: str) -> str:
    """Return whether each quoted phrase of a rubric occurs in the text."""
    phrases = re.findall('"([^"]+)"', wanted)
    if not phrases:
        reason = "the rubric quotes no phrase, and this stand-in can judge nothing else"
        return json.dumps({"pass": False, "score": 0.0, "reason": reason})
    missing = [phrase for phrase in phrases if phrase not in text]
    reason = f"not found: {', '.join(missing)}" if missing else "each phrase was found"
    return json.dumps({"pass": not missing, "score": float(not missing), "reason": reason})


def recall(known: str, fact: str) -> str:
    """Return for each sentence of a fact whether the context holds all of its words."""
    return "\n".join(
        f"{sentence} {'[Attributed]' if words(sentence) <= words(known) else '[Not Attributed]'}"
        for sentence in sentences(fact)
    )


def verdicts(known: str, statements: list[str]) -> str:
    """Return for each statement of an answer whether the context holds all of its words."""
    return "\n".join(
        f"{statement} verdict: {'yes' if words(statement) <= words(known) else 'no'}"
        for statement in statements
    )


def relevant(known: str, query: str) -> str:
    """Return the sentences of the context that share a long word with the question."""
    asked = {word for word in words(query) if len(word) > 5}
    found = [sentence for sentence in sentences(known) if asked & words(sentence)]
    return "\n".join(found) or "Insufficient Information"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def words(text: str) -> set[str]:
    """Return the words of a text, in lower case."""
    return set(re.findall(r"\w+", text.lower()))
