"""``contextTransform`` without ``context.``, as Lobu's documents write it."""

from __future__ import annotations

from typing import Any

import pytest

from lobu_provider.extension.context_transforms import bare_transforms, correct


def corrected(transform: Any) -> Any:
    assertion = {"type": "context-recall", "contextTransform": transform}
    correct(bare_transforms({"tests": [{"assert": [assertion]}]}))
    return assertion["contextTransform"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("metadata.retrievedContext", "context.metadata.retrievedContext"),
        (" metadata['a']", " context.metadata['a']"),
        ("metadata?.a ?? metadata.b", "context.metadata?.a ?? context.metadata.b"),
    ],
)
def test_the_missing_word_is_put_in(written: str, meant: str) -> None:
    assert corrected(written) == meant
    assert corrected(meant) == meant


@pytest.mark.parametrize(
    "transform",
    [
        "context.metadata.retrievedContext",
        "output.metadata.a",
        "mymetadata.a",
        "context.vars['metadata.a']",
        "file://metadata.js",
        "const metadata = context.metadata;\nreturn metadata.a;",
        "output",
        None,
        7,
    ],
)
def test_everything_else_stays(transform: Any) -> None:
    assert corrected(transform) == transform


def test_it_is_looked_for_in_tests_sets_scenarios_and_defaults() -> None:
    def place() -> dict[str, Any]:
        inner = {"contextTransform": "metadata.a"}
        return {"description": "t", "assert": [{"type": "assert-set", "assert": [inner]}]}

    suite = {
        "tests": [place()],
        "defaultTest": place(),
        "scenarios": [{"config": [place()], "tests": [place()]}],
    }
    found = bare_transforms(suite)
    assert [name for name, _ in found] == ["defaultTest", "scenarios[0].config[0]", "'t'", "'t'"]
    correct(found)
    assert bare_transforms(suite) == []


@pytest.mark.parametrize("odd", [7, None, "file://t.yaml", [None, 7, {"assert": [None, 7]}]])
def test_odd_suites_are_no_fault(odd: Any) -> None:
    assert bare_transforms({"tests": odd, "scenarios": odd, "defaultTest": odd}) == []
