"""Keep promptfoo from splitting ``vars.transcript`` into one test per turn.

A list of strings becomes a list in a list, which promptfoo does not split and the provider reads
as the same turns. Other list variables of the test still expand, which ``disableVarExpansion``
would switch off. extension.js of the npm package does the same; keep both alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from lobu_provider.extension.suite import SeenProvider, default_test, mapping, places


def split_transcripts(
    suite: Mapping[str, Any], providers: list[SeenProvider]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the variables whose ``transcript`` promptfoo would split, with the test's name.

    Empty when it splits nothing, or when the variable is not meant for any of our providers.
    """
    if not expands_variables() or all(_takes_strings(provider) for provider in providers):
        return []
    return list(_split(suite))


def expands_variables() -> bool:
    """Return whether promptfoo splits lists in variables at all, by its environment variable."""
    return os.environ.get("PROMPTFOO_DISABLE_VAR_EXPANSION", "").lower() not in _TRUE


def repair(found: list[tuple[str, dict[str, Any]]]) -> None:
    """Put each of these transcripts into a list, in the suite itself."""
    for _, variables in found:
        turns = variables["transcript"]
        if isinstance(turns[0], str):  # tests may share their variables
            variables["transcript"] = [turns]


_TRUE = ("1", "true", "yes", "yup", "yeppers")  # promptfoo's own words


def _split(suite: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    common = mapping(default_test(suite).get("options"))
    for name, place in places(suite):
        variables = place.get("vars")
        if not isinstance(variables, dict):
            continue
        turns = variables.get("transcript")
        options = {**common, **mapping(place.get("options"))}
        is_split = isinstance(turns, list) and bool(turns) and isinstance(turns[0], str)
        is_reshaped = "transcript" in str(options.get("transformVars", ""))
        if is_split and options.get("disableVarExpansion") is not True and not is_reshaped:
            yield name, variables


def _takes_strings(provider: SeenProvider) -> bool:
    """Whether a plain string is no conversation for it, so that splitting may be meant."""
    return mapping(provider.options.get("config")).get("stringTranscript") == "prompt"
