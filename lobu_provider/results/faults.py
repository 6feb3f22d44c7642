"""Why results cannot be read or trusted."""

from __future__ import annotations


class ResultsError(Exception):
    """A file is not one that we can read; the text names it and says what to do."""


class UnfinishedResultsError(ResultsError):
    """A file is missing or cut off: the run that should have written it did not end."""
