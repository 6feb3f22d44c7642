"""A stand-in for a model as promptfoo's grader: deterministic, offline, by comparing words.

Real suites name a model here instead, e.g. ``provider: anthropic:messages:...``. This one knows
only what ``context-recall`` asks for: for each sentence of the expected fact, whether the retrieved
context holds all of its words.
"""

from __future__ import annotations

import re
from typing import Any


def call_api(prompt: str, options: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """Answer as a grading model would: one line a sentence, attributed to the context or not."""
    variables = context["vars"]
    known = words(str(variables["context"]))
    lines = [
        f"{sentence} {'[Attributed]' if words(sentence) <= known else '[Not Attributed]'}"
        for sentence in re.split(r"(?<=[.!?])\s+", str(variables["groundTruth"]))
        if sentence.strip()
    ]
    return {"output": "\n".join(lines)}


def words(text: str) -> set[str]:
    """Return the words of a text, in lower case."""
    return set(re.findall(r"\w+", text.lower()))
