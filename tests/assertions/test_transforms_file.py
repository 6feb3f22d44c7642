"""The file that promptfoo loads by its path for a transform, and the page that describes it."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import lobu_provider
from lobu_provider import LobuProvider
from lobu_provider.assertions.transforms import TRANSFORMS, transform
from tests.assertions.test_assertions_file import LOAD, load
from tests.assertions.test_transforms_golden import CASES

FILE = Path(lobu_provider.__file__).parent / "hook" / "lobu_transforms.py"
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "retrieval.md").read_text(encoding="utf-8")
HIT: dict[str, Any] = CASES[0]
CONTEXT = {"metadata": HIT["metadata"]}


def test_it_has_a_function_for_each_transform_under_its_name() -> None:
    assert set(json.loads(load(FILE, "names").stdout)) == {*TRANSFORMS, "get_transform"}


def test_each_function_is_its_transform() -> None:
    for name in TRANSFORMS:
        assert json.loads(load(FILE, name, CONTEXT).stdout) == transform(name, CONTEXT)


def test_a_row_without_evidence_is_an_error_that_says_why() -> None:
    done = load(FILE, "evidence", {"metadata": {"messages": "[]"}})
    assert done.returncode != 0
    assert "there is no metadata of a Lobu provider" in done.stderr


def test_a_copy_works_beside_files_that_are_called_as_pythons_own(tmp_path: Path) -> None:
    copy = Path(shutil.copy(FILE, tmp_path))
    (tmp_path / "dataclasses.py").write_text("raise RuntimeError('shadowed')")
    done = load(copy, "retrievedContext", CONTEXT)
    assert json.loads(done.stdout) == "\n".join(HIT["expect"])


def test_the_file_without_a_transform_says_how_to_write_it() -> None:
    assert "file://PATH:retrievedContext" in load(FILE, "get_transform").stderr


def test_without_the_package_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    copy = Path(shutil.copy(FILE, tmp_path))
    command = [sys.executable, "-I", "-S", "-c", LOAD, str(copy), "evidence", "{}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "-m pip install lobu-provider" in done.stderr


def test_the_text_on_the_page_is_that_of_the_conversation_of_the_demo() -> None:
    (shown,) = re.findall(r"<!-- text: evidence -->\n```text\n(.*?)\n```", PAGE, re.DOTALL)
    provider = LobuProvider({"config": {"agent": "support-agent", "gateway": "script:demo"}})
    turns = ["I want to return order 17.", "Yes, please refund it."]
    response = asyncio.run(provider.call_api("", {"vars": {"transcript": turns}}))
    assert transform("evidence", {"metadata": response["metadata"]}) == shown
