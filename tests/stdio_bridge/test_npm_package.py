"""What the npm package says of itself agrees with the Python side and with what is shipped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from lobu_provider.cli.main import cli
from lobu_provider.config.model import ProviderConfig, known_keys
from lobu_provider.stdio_bridge.protocol import PROTOCOL

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "node_shim"
PACKAGE = json.loads((SHIM / "package.json").read_text(encoding="utf-8"))
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_both_packages_have_the_same_version() -> None:
    version = re.search(r'^version = "(.*)"$', PYPROJECT, flags=re.MULTILINE)
    assert version is not None
    assert PACKAGE["version"] == version.group(1)


def test_both_sides_speak_the_same_protocol() -> None:
    text = (SHIM / "bridge_process.js").read_text(encoding="utf-8")
    assert f"export const PROTOCOL = {PROTOCOL};" in text


def test_every_module_is_shipped_by_npm_and_by_the_wheel() -> None:
    modules = {path.name for path in SHIM.iterdir() if path.suffix in (".js", ".ts")}
    modules.add("assertions")  # a folder, as a whole
    assert set(PACKAGE["files"]) == modules
    shipped = re.findall(r'^"node_shim/(.*)" = "lobu_provider/node_shim/\1"$', PYPROJECT, re.M)
    assert set(shipped) == modules | {"package.json", "README.md"}


def test_types_come_first_and_nothing_is_needed() -> None:
    assert list(PACKAGE["exports"]["."]) == ["types", "default"]
    assert not any(key.endswith("ependencies") for key in PACKAGE)


@pytest.mark.parametrize("key", known_keys())
def test_the_types_document_every_config_key(key: str) -> None:
    types = (SHIM / "index.d.ts").read_text(encoding="utf-8")
    block = types.partition("export interface LobuProviderConfig {")[2].partition("\n}")[0]
    declared = re.search(rf"/\*\*(?:(?!\*/).)*\*/\n  {key}\?: ", block, flags=re.DOTALL)
    assert declared is not None
    field = next(f for n, f in ProviderConfig.model_fields.items() if key in (n, f.alias))
    if isinstance(field.default, (bool, int, float)):
        assert f"@default {json.dumps(field.default)}\n" in declared.group()


def test_the_command_prints_the_folder_of_the_clone_and_nothing_else() -> None:
    result = CliRunner().invoke(cli, ["shim-path"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert Path(result.stdout.removesuffix("\n")) == SHIM
