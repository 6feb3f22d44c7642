"""Which providers a test's list ``providers`` means, by promptfoo's rule."""

from __future__ import annotations

from collections.abc import Iterable


def is_meant(reference: object, names: Iterable[str]) -> bool:
    """Return whether an entry of the list means a provider: its whole name, a part of it before
    a colon, or its beginning followed by ``*``.

    Args:
        reference: the entry.
        names: the provider's label and id, as far as it has them.
    """
    ref = str(reference)
    return any(
        name == ref
        or name.startswith(f"{ref}:")
        or (ref.endswith("*") and name.startswith(ref[:-1]))
        for name in names
    )
