"""The file that promptfoo loads for an assertion::

    {type: python, value: 'file://.../lobu_assertions.py:toolCalled', config: {tool: lookup_order}}

Like lobu_hook.py beside it, it imports nothing but the standard library while it is loaded, and a
copy of it works anywhere. What makes a verdict impossible is raised, which promptfoo shows as a
failure with any type of assertion.
"""

from __future__ import annotations

import sys

# promptfoo has put this folder first on the import path. For a copy of this file that is a folder
# of the user's, where a file called http.py or random.py would take the place of Python's own.
_FOLDER = __file__.replace("\\", "/").rpartition("/")[0]
sys.path[:] = [path for path in sys.path if str(path).replace("\\", "/").rstrip("/") != _FOLDER]

import os  # noqa: E402 - after the path is safe

# ruff: noqa: D103, N802 - docs/assertions.md describes them, under the names that configs write


def toolCalled(output: object, context: object) -> object:
    return _judge("toolCalled", context)


def toolNotCalled(output: object, context: object) -> object:
    return _judge("toolNotCalled", context)


def toolOrder(output: object, context: object) -> object:
    return _judge("toolOrder", context)


def maxToolCalls(output: object, context: object) -> object:
    return _judge("maxToolCalls", context)


def noToolErrors(output: object, context: object) -> object:
    return _judge("noToolErrors", context)


def completed(output: object, context: object) -> object:
    return _judge("completed", context)


def maxTurns(output: object, context: object) -> object:
    return _judge("maxTurns", context)


def maxLatency(output: object, context: object) -> object:
    return _judge("maxLatency", context)


def needsHuman(output: object, context: object) -> object:
    return _judge("needsHuman", context)


def retrieved(output: object, context: object) -> object:
    return _judge("retrieved", context)


def turns(output: object, context: object) -> object:
    return _judge("turns", context)


def maxTokens(output: object, context: object) -> object:
    return _judge("maxTokens", context)


def maxCost(output: object, context: object) -> object:
    return _judge("maxCost", context)


def countYesOrNo(named_scores: object, context: object) -> object:
    _make_importable()
    from lobu_provider.assertions.yes_or_no import count_yes_or_no

    return count_yes_or_no(context)  # type: ignore[arg-type]  # promptfoo's


def get_assert(output: object, context: object) -> object:
    """Answer a config that names the file without a check."""
    raise ValueError("lobu-provider: write the check's name after the file: file://PATH:toolCalled")


def _judge(check: str, context: object) -> object:
    _make_importable()
    try:
        from lobu_provider.assertions.judge import judge
    except ImportError as exc:
        raise ImportError(
            f"lobu-provider could not run: {exc}. Set PROMPTFOO_PYTHON to the Python that has "
            "lobu-provider, or install it for the one that promptfoo runs: "
            f"{sys.executable} -m pip install lobu-provider"
        ) from None
    return judge(check, context)


def _make_importable() -> None:
    """Find the package that this file is part of when the interpreter does not have it."""
    import importlib.util

    if importlib.util.find_spec("lobu_provider") is None:
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.append(packages)
