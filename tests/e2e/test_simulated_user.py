"""promptfoo's simulated user, whose turns are calls of their own in one thread."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.e2e.conftest import CANARY, Promptfoo, Served, provider
from tests.e2e.simulated_user import user_who_says
from tests.e2e.test_promptfoo_package import PACKAGE, install

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(200)]


def entry_of(door: str, promptfoo: Promptfoo, served: Served) -> dict[str, Any]:
    entry = provider(served.url)
    if door == "package":
        install(promptfoo.folder)
        promptfoo.environment["LOBU_PYTHON"] = sys.executable
        entry["id"] = PACKAGE
    return entry


@pytest.mark.parametrize("door", ["hook", "package"])
def test_a_user_who_says_the_same_again_is_heard_each_time_with_promptfoos_cache_on(
    door: str, promptfoo: Promptfoo, served: Served
) -> None:
    config = {
        "prompts": ["Be kind. {{instructions}}"],
        "providers": [entry_of(door, promptfoo, served)],
        "defaultTest": {
            "provider": {
                "id": "promptfoo:simulated-user",
                "config": {"maxTurns": 6, "stateful": True, "instructions": "Say yes."},
            }
        },
        "tests": [
            {"vars": {"instructions": "one"}},
            {"vars": {"instructions": "two"}, "metadata": {"conversationId": "c-1"}},
        ],
    }
    del promptfoo.environment["PROMPTFOO_CACHE_ENABLED"]
    with user_who_says(promptfoo, ["yes", "yes", "yes", "yes"]):
        run = promptfoo.eval(config, LOBU_TOKEN=CANARY)
    assert run.exit_code == 0, run.log
    requests = served.gateway.requests
    said = [r.fields["content"] for r in requests if r.path.endswith("/messages")]
    assert said == ["yes"] * 8
    threads = [r.fields["thread"] for r in requests if r.method == "POST" and r.route == []]
    assert sorted(threads.count(thread) for thread in set(threads)) == [4, 4]
    for row in run.rows:
        assert row["response"]["output"].count("Assistant: heard: yes") == 4
        assert row["response"]["metadata"]["sessionId"].rpartition("~")[0] in threads
