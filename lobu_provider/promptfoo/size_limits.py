"""Keep a row small enough for promptfoo's database, which grows by five times its metadata.

What is over a limit is cut with a mark, and told in ``metadata.truncated`` and in a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lobu_provider.errors import Failure, failure
from lobu_provider.json_safe import json_safe
from lobu_provider.promptfoo.json_cuts import json_bytes, mark
from lobu_provider.promptfoo.metadata_parts import (
    LABELS,
    cut_texts,
    drop_parts,
    parts_of,
    replace_parts,
)

MAX_OUTPUT: Final = 10_000_000
"""Characters of an answer. A longer one is an error: a verdict over its beginning says nothing."""


def failure_of_output(output: str) -> Failure | None:
    """Return the failure of an answer that is too long to be kept whole."""
    if len(output) <= MAX_OUTPUT:
        return None
    return failure(
        "gateway",
        f"The answer has {len(output):,} characters, more than the {MAX_OUTPUT:,} that a row can "
        "hold, so only its beginning is kept. The agent or the gateway may repeat itself.",
        phase="turn",
        retryable=False,
    )


def limit_output(output: str) -> str:
    """Return at most :data:`MAX_OUTPUT` characters of the answer, and a mark."""
    if len(output) <= MAX_OUTPUT:
        return output
    return output[:MAX_OUTPUT] + mark(len(output) - MAX_OUTPUT)


def over_long_output(output: str) -> dict[str, int] | None:
    """Return ``metadata.truncated.output`` for an answer that is cut."""
    if len(output) <= MAX_OUTPUT:
        return None
    return {"limitCharacters": MAX_OUTPUT, "characters": len(output)}


def limit_metadata(
    metadata: Mapping[str, Any],
    max_bytes: int,
    *,
    size: int | None = None,
    taken_out: frozenset[str] = frozenset(),
) -> Mapping[str, Any]:
    """Return the metadata within ``max_bytes`` of JSON in UTF-8; beyond it only if none can go.

    What was cut is told in ``truncated`` and in a warning. Metadata that has been cut, or needs no
    cut, is returned as it is.

    Args:
        metadata: JSON-safe; not changed.
        max_bytes: the limit.
        size: of the metadata before anything was taken out, where it is known, if only roughly.
        taken_out: labels of what :func:`take_out_structures` took.
    """
    size = json_bytes(metadata) if size is None else size
    fits = size <= max_bytes and not taken_out
    if fits or "limitBytes" in metadata.get("truncated", {}):
        return metadata
    cut: dict[str, Any] = json_safe({k: v for k, v in metadata.items() if k not in _REPORT})
    parts = list(parts_of(cut))
    # With the longest report that there can be, so that the real one fits.
    longest = _report(metadata, LABELS, size, max_bytes, still_over=True)
    room = max_bytes - json_bytes(longest) + 1
    labels = taken_out | cut_texts(cut, parts, json_bytes(cut) - room)
    labels |= replace_parts(parts, parts_of(metadata), json_bytes(cut) - room)
    labels |= drop_parts(parts, json_bytes(cut) - room)
    told = sorted(labels)
    found = {**cut, **_report(metadata, told, size, max_bytes, still_over=False)}
    if json_bytes(found) <= max_bytes:
        return found
    return {**cut, **_report(metadata, told, size, max_bytes, still_over=True)}


_REPORT: Final = frozenset({"warnings", "truncated"})


def _report(
    metadata: Mapping[str, Any],
    labels: Sequence[str],
    size: int,
    max_bytes: int,
    *,
    still_over: bool,
) -> dict[str, Any]:
    """The two keys that tell of the cut."""
    over = " Entries alone take more than that, and are kept." if still_over else ""
    warning = (
        f"metadata was cut: it had {size:,} bytes of at most {max_bytes:,} (maxMetadataKb). Do not "
        f"judge by what may be missing: {', '.join(labels) or 'nothing could go'}.{over}"
    )
    return {
        "warnings": [*metadata.get("warnings", ()), warning],
        "truncated": {
            **metadata.get("truncated", {}),
            "limitBytes": max_bytes,
            "bytes": size,
            "cut": list(labels),
            **({"stillOver": True} if still_over else {}),
        },
    }
