"""The judge of an Astromesh eval as promptfoo names a model."""

from __future__ import annotations

from typing import Any, Final

from lobu_provider.convert.fields import Fields

_KEYS: Final = ("provider", "model", "endpoint", "api_key_env")
_KINDS: Final = {
    "openai_compat": "openai:chat",
    "openai": "openai:chat",
    "anthropic": "anthropic:messages",
}


def grader_of(model: Fields) -> tuple[dict[str, Any] | str | None, list[tuple[str, str]]]:
    """Return promptfoo's provider for a judge, and the fields that it has no place for.

    ``None`` stands for a provider that is not known here.
    """
    kind = model.text("provider", required=True) or ""
    name = model.text("model", required=True) or ""
    lost = [
        (model.path(key), "not carried over; add it to the grader's config if promptfoo has it")
        for key in model.unknown(_KEYS)
    ]
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        text = f"{kind!r} is not known here (known: {known}): name the grader with --grader"
        return None, [*lost, (model.path("provider"), text)]
    config = {}
    endpoint = model.text("endpoint")
    if endpoint is not None:
        config["apiBaseUrl"] = endpoint
    variable = model.text("api_key_env")
    if variable is not None:
        config["apiKeyEnvar"] = variable
    grader = f"{_KINDS[kind]}:{name}"
    return ({"id": grader, "config": config} if config else grader), lost
