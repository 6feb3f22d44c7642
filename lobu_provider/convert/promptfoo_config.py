"""A promptfoo config for suites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lobu_provider.convert.assertions_of import SCORING, assertions_of
from lobu_provider.convert.literals import VARIABLE, Literals
from lobu_provider.convert.suite import AgentSettings, Case, RubricCheck, Suite

HOOK: Final = "file://{{env.LOBU_PROVIDER_HOOK}}"
_SPARE_S: Final = 30
"""For making and deleting the session, on top of the turns, and for promptfoo on top of that."""
_HOST_LIMIT_S: Final = 300
"""What promptfoo gives a call unless ``config.timeout`` says otherwise."""
_IDLE_S: Final = 120
"""The default of ``idleTimeoutMs``, which a longer limit must take along."""

Grader = Mapping[str, Any] | str


def promptfoo_config(suites: Sequence[Suite], grader: Grader | None = None) -> dict[str, Any]:
    """Return the config of suites that are judged together.

    Args:
        suites: at least one case in all.
        grader: the model that grades, in the place of what the sources name.

    Raises:
        SourceError: a check cannot be written.
    """
    cases = [case for suite in suites for case in suite.cases]
    settings = _entries(cases)
    repeat = Counter(case.repeat for case in cases).most_common(1)[0][0]
    graders = [case.grader for case in cases if _is_graded(case)]
    common = grader or (graders[0] if graders and all(g == graders[0] for g in graders) else None)
    rates = {suite.pass_rate for suite in suites if suite.pass_rate is not None}
    names = _names(suites)
    tests = [
        {
            "description": name,
            **_test(case, settings, repeat, grader=None if grader or common else case.grader),
        }
        for name, case in zip(names, cases, strict=True)
    ]
    config: dict[str, Any] = {
        "description": f"Converted: {', '.join(dict.fromkeys(suite.name for suite in suites))}"
    }
    if rates:
        (rate,) = rates
        # promptfoo reads its own variables from this block too.
        config["env"] = {"PROMPTFOO_PASS_RATE_THRESHOLD": f"{rate * 100:.10g}"}
    config["prompts"] = ["{{query}}"]
    config["providers"] = [_provider(label, entry, cases) for entry, label in settings.items()]
    if common:
        config["defaultTest"] = {"options": {"provider": common}}
    config["evaluateOptions"] = {"cache": False, **({"repeat": repeat} if repeat > 1 else {})}
    config["tests"] = tests
    return config


def _names(suites: Sequence[Suite]) -> list[str]:
    """Return what each test is called: with its suite's name where two would be called the same."""
    count = Counter(case.name for suite in suites for case in suite.cases)
    return [
        f"{suite.name}: {case.name}" if count[case.name] > 1 else case.name
        for suite in suites
        for case in suite.cases
    ]


def _is_graded(case: Case) -> bool:
    return any(isinstance(check, RubricCheck) for check in case.checks)


def _entries(cases: Sequence[Case]) -> dict[AgentSettings, str]:
    """Return the provider entries that are needed, each with a label of its own."""
    found: dict[AgentSettings, str] = {}
    for case in cases:
        if case.settings not in found:
            base = _label(case.settings)
            same = sum(label == base or label.startswith(f"{base} #") for label in found.values())
            found[case.settings] = f"{base} #{same + 1}" if same else base
    if len(found) == 1:
        (only,) = found
        return {only: only.agent or "agent"}
    return found


def _label(settings: AgentSettings) -> str:
    limit = settings.turn_timeout_s or settings.case_timeout_s
    base = settings.agent or "agent"
    return f"{base}, {limit:g} s" if limit else base


def _provider(label: str, entry: AgentSettings, cases: Sequence[Case]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if entry.agent is not None:
        config["agent"] = entry.agent
    whole_s, turn_s = entry.case_timeout_s, entry.turn_timeout_s
    if turn_s is not None:
        most = max(len(case.turns) for case in cases if case.settings == entry)
        whole_s = turn_s * most + _SPARE_S
    if whole_s is not None:
        config["timeoutMs"] = round(whole_s * 1000)
        if whole_s + _SPARE_S > _HOST_LIMIT_S:
            config["timeout"] = round((whole_s + _SPARE_S) * 1000)
        if (turn_s or whole_s) > _IDLE_S:
            config["idleTimeoutMs"] = round((turn_s or whole_s) * 1000)
    if turn_s is not None:
        config["turnTimeoutMs"] = round(turn_s * 1000)
    if entry.context is not None:
        config["ephemeralContext"] = entry.context
    return {"id": HOOK, "label": label, "config": config}


def _test(
    case: Case, settings: Mapping[AgentSettings, str], repeat: int, grader: Grader | None
) -> dict[str, Any]:
    literals = Literals()
    assertions = assertions_of(case, literals)
    options: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    if len(case.turns) == 1 and Literals.is_plain(case.turns[0]):
        variables["query"] = case.turns[0]
    else:  # promptfoo fills in templates in a text, and none in a list
        variables["transcript"] = list(case.turns)
        options["disableVarExpansion"] = True
        if Literals.is_plain(case.turns[-1]):
            # It is not sent: the web view opens no row whose prompt is empty.
            variables["query"] = case.turns[-1]
    if literals.texts:
        variables[VARIABLE] = literals.texts
        options["disableVarExpansion"] = True
    if case.repeat != repeat:
        options["repeat"] = case.repeat
    if grader is not None:
        options["provider"] = grader
    test: dict[str, Any] = {}
    if case.metadata:
        test["metadata"] = dict(case.metadata)
    if len(settings) > 1:
        test["providers"] = [settings[case.settings]]
    if options:
        test["options"] = options
    test["vars"] = variables
    if case.threshold is not None:
        test["threshold"] = case.threshold
        if _is_graded(case):
            test["assertScoringFunction"] = SCORING
    test["assert"] = assertions
    return test
