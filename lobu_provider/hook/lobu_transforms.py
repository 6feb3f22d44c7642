"""The file that promptfoo loads for a transform of a model-graded assertion::

    {type: context-recall, contextTransform: 'file://.../lobu_transforms.py:retrievedContext', ...}
    {type: llm-rubric, transform: 'file://.../lobu_transforms.py:evidence', ...}

Like lobu_hook.py beside it, it imports nothing but the standard library while it is loaded, and a
copy of it works anywhere. What is raised becomes the error of the row.
"""

from __future__ import annotations

import sys

# promptfoo has put this folder first on the import path. For a copy of this file that is a folder
# of the user's, where a file called http.py or random.py would take the place of Python's own.
_FOLDER = __file__.replace("\\", "/").rpartition("/")[0]
sys.path[:] = [path for path in sys.path if str(path).replace("\\", "/").rstrip("/") != _FOLDER]

import os  # noqa: E402 - after the path is safe

# ruff: noqa: D103, N802 - docs/retrieval.md describes them, under the names that configs write


def retrievedContext(output: object, context: object) -> object:
    return _transform("retrievedContext", context)


def evidence(output: object, context: object) -> object:
    return _transform("evidence", context)


def get_transform(output: object, context: object) -> object:
    """Answer a config that names the file without a transform."""
    raise ValueError(
        "lobu-provider: write the transform's name after the file: file://PATH:retrievedContext "
        "or file://PATH:evidence"
    )


def _transform(name: str, context: object) -> object:
    _make_importable()
    try:
        from lobu_provider.assertions.transforms import transform
    except ImportError as exc:
        raise ImportError(
            f"lobu-provider could not run: {exc}. Set PROMPTFOO_PYTHON to the Python that has "
            "lobu-provider, or install it for the one that promptfoo runs: "
            f"{sys.executable} -m pip install lobu-provider"
        ) from None
    return transform(name, context)


def _make_importable() -> None:
    """Find the package that this file is part of when the interpreter does not have it."""
    import importlib.util

    if importlib.util.find_spec("lobu_provider") is None:
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.append(packages)
