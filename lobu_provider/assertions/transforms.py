"""Texts made of a row for promptfoo's model-graded assertions: what was retrieved, what happened.

``retrievedContext`` is for ``contextTransform``, ``evidence`` for the ``transform`` of an
``llm-rubric``. promptfoo makes an error row of a transform that raises or returns nothing, so each
gives a text for every row of a Lobu provider, and raises only where there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lobu_provider.assertions.evidence import Evidence, read_evidence
from lobu_provider.assertions.evidence_text import evidence_text
from lobu_provider.assertions.values import is_blank

NOTHING: Final = "No context was retrieved."
"""No more, e.g. that a search failed: a grader would compare those words with the test's."""


def transform(name: str, context: Any) -> str:
    """Return the text that a transform makes of a row.

    Args:
        name: a name of :data:`TRANSFORMS`.
        context: what promptfoo hands a transform: ``vars``, ``prompt`` and ``metadata``.

    Raises:
        NoEvidenceError: the row is not of a Lobu provider, or is malformed; the text says why.
    """
    metadata = context.get("metadata") if isinstance(context, Mapping) else None
    return TRANSFORMS[name](read_evidence({"providerResponse": {"metadata": metadata}}))


def retrieved_context(evidence: Evidence) -> str:
    """Return what the searches found, each text once, or :data:`NOTHING`."""
    given = evidence.response["metadata"].get("retrievedContext")
    if isinstance(given, str) and not is_blank(given):
        return given
    # Without snippets nothing was found; with them the joined text was dropped, the row being big.
    return "\n\n".join(evidence.snippets) or NOTHING


TRANSFORMS: Final[dict[str, Callable[[Evidence], str]]] = {
    "retrievedContext": retrieved_context,
    "evidence": evidence_text,
}
"""By the name that a config writes after the file."""
