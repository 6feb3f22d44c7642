"""Runs that tested nothing, for which promptfoo ends with exit code 0: none is a success."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Ran, run_in_process
from tests.e2e.conftest import Promptfoo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]

REFUSED = """
def call_api(prompt, options, context):
    return {"output": "hello", "metadata": {"http": {"status": 401}}}
"""
TESTS = [{"vars": {"query": text}} for text in ("one", "two", "three")]
SUITE = {"prompts": ["{{query}}"], "providers": ["file://refused.py"], "tests": TESTS}


def gate(folder: Path) -> Ran:
    return run_in_process("report", str(folder / "results.json"), "--gate")


def test_a_run_without_rows_is_no_success(promptfoo: Promptfoo) -> None:
    (promptfoo.folder / "refused.py").write_text(REFUSED)
    done = promptfoo.eval(SUITE, "--filter-pattern", "nothing is called so")
    assert (done.exit_code, done.rows) == (0, [])
    found = gate(promptfoo.folder)
    assert (found.exit_code, "has no rows" in found.stderr) == (3, True)


def test_an_aborted_run_is_no_success(promptfoo: Promptfoo) -> None:
    (promptfoo.folder / "refused.py").write_text(REFUSED)
    assert promptfoo.eval(SUITE).exit_code == 0
    found = gate(promptfoo.folder)
    assert (found.exit_code, "aborted" in found.stderr) == (3, True)
