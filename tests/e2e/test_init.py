"""What init writes, under the real promptfoo."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.e2e.conftest import HOOK, Promptfoo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]


def test_a_new_project_is_green_at_once_and_red_when_the_agent_is(promptfoo: Promptfoo) -> None:
    (promptfoo.folder / "agents" / "shop").mkdir(parents=True)
    command = [sys.executable, "-m", "lobu_provider", "init"]
    subprocess.run(command, cwd=promptfoo.folder, env=promptfoo.environment, check=True)
    evals = promptfoo.folder / "agents" / "shop" / "evals"
    config = evals / "promptfooconfig.yaml"
    variables = {
        "LOBU_PROVIDER_HOOK": str(HOOK),
        "LOBU_EXTENSION": str(HOOK.parent / "lobu_extension.py"),
        "LOBU_ASSERTIONS": str(HOOK.parent / "lobu_assertions.py"),
    }
    good = promptfoo.eval(config, **variables)
    assert good.exit_code == 0, good.log
    assert [row["success"] for row in good.rows] == [True, True, True]
    assert len(good.metadata(1)["turns"]) == 2
    script = evals / "agent-script.json"
    script.write_text(
        script.read_text("utf-8").replace('"lookup_order"', '"refund_order"'), "utf-8"
    )
    bad = promptfoo.eval(config, **variables)
    assert bad.exit_code == 100, bad.log
    assert [row["success"] for row in bad.rows] == [True, False, True]
