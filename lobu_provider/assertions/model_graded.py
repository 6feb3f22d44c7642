"""The types of promptfoo's assertions in which a model answers a question about the output."""

from __future__ import annotations

from typing import Final

MODEL_GRADED: Final = frozenset(
    {
        "agent-rubric",
        "answer-relevance",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "conversation-relevance",
        "factuality",
        "g-eval",
        "llm-rubric",
        "model-graded-closedqa",
        "model-graded-factuality",
        "pi",
        "search-rubric",
    }
)
"""Without the ``not-`` that inverts one."""
