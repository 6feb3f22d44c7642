"""Read promptfoo's test suite as a hook gets it: JSON, in which functions are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HOOK_NAME: Final = "lobu_hook.py"
PACKAGE: Final = "@lobu/promptfoo-provider"
_SHOWN: Final = 3


@dataclass(frozen=True)
class SeenProvider:
    """One provider of the suite that is ours."""

    where: str
    """E.g. ``providers[0]``, or with its label ``providers[0] (staging)``."""
    options: Mapping[str, Any]
    """``{id, config, env}``, as the provider itself gets them."""
    is_whole: bool = True
    """Whether ``options`` is all there is. The npm package tells a Python hook no secrets."""


def our_providers(suite: Mapping[str, Any]) -> list[SeenProvider]:
    """Return the Lobu providers of a suite, through the Python file and through npm."""
    entries = enumerate(items(suite.get("providers")))
    seen = (_seen(position, mapping(entry)) for position, entry in entries)
    return [provider for provider in seen if provider is not None]


def _seen(position: int, entry: Mapping[str, Any]) -> SeenProvider | None:
    # Our JavaScript hook hands over our providers alone, each with its place among all of them.
    given_index = entry.get("index")
    index = given_index if isinstance(given_index, int) else position
    label = entry.get("label")
    where = f"providers[{index}] ({label})" if label else f"providers[{index}]"
    if entry.get("package") == PACKAGE:
        # With "options" it comes from our JavaScript hook, which sees all of them.
        options = entry.get("options")
        if isinstance(options, Mapping):
            return SeenProvider(where, options)
        config = {"config": mapping(entry.get("config"))}
        return SeenProvider(where, config, is_whole=entry.get("hidden") is False)
    script = entry.get("scriptPath")
    if not isinstance(script, str) or not _is_ours(script):
        return None
    options = entry.get("options")
    given = options if isinstance(options, Mapping) else {"config": entry.get("config")}
    return SeenProvider(where, given)


def _is_ours(script: str) -> bool:
    path = Path(script)  # relative to the working directory, as for promptfoo
    if path.name == HOOK_NAME:
        return True
    try:
        with path.open("rb") as file:  # a copy of the hook under another name
            return path.suffix == ".py" and b"lobu_provider" in file.read(100_000)
    except OSError:
        return False


def places(suite: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return everything that becomes part of a test, each with what to call it in a message."""
    return [("defaultTest", default_test(suite)), *scenario_data(suite), *named_tests(suite)]


def default_test(suite: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults of all tests; empty when they are a reference that is not read yet."""
    return mapping(suite.get("defaultTest"))


def named_tests(suite: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each test with what to call it in a message; those of scenarios too."""
    for index, test in enumerate(items(suite.get("tests"))):
        yield _name(test, f"tests[{index}]"), mapping(test)
    for number, scenario in enumerate(items(suite.get("scenarios"))):
        for index, test in enumerate(items(mapping(scenario).get("tests"))):
            yield _name(test, f"scenarios[{number}].tests[{index}]"), mapping(test)


def scenario_data(suite: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the entries of the ``config`` of scenarios, which are merged into their tests."""
    for number, scenario in enumerate(items(suite.get("scenarios"))):
        for index, data in enumerate(items(mapping(scenario).get("config"))):
            yield f"scenarios[{number}].config[{index}]", mapping(data)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return ``value``, or an empty mapping in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """Return ``value``, or an empty list in the place of anything else."""
    return value if isinstance(value, list) else []


def listed(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - _SHOWN
    return ", ".join(distinct[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _name(test: Any, otherwise: str) -> str:
    description = str(mapping(test).get("description") or "").strip()
    return repr(description) if description else otherwise
