"""The two hooks: what is done before and after a run, in which order, in how much time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lobu_provider import ledger
from lobu_provider.extension.advice import advice
from lobu_provider.extension.context_transforms import bare_transforms, correct
from lobu_provider.extension.holes import first_hole
from lobu_provider.extension.host_program import arguments_of_parent, config_is_a_program
from lobu_provider.extension.suite import SeenProvider, listed, mapping, our_providers
from lobu_provider.extension.transcripts import repair, split_transcripts
from lobu_provider.ledger_folder import folder_fault
from lobu_provider.probe.finding import TimeBudget

BEFORE_S: Final = 2.0
"""For everything before a run; with the start of Python less than three seconds."""

AFTER_S: Final = 8.0
"""For the sweep after a run."""

Say = Callable[[str], None]


class StopRun(Exception):  # noqa: N818 - it is no error of this program
    """The run cannot work; the text says why and what to do."""


def to_stderr(text: str) -> None:
    """Tell the user; promptfoo shows what a hook writes to stderr."""
    shown = "".join(c if c.isprintable() or c == "\n" else "?" for c in f"lobu-provider: {text}\n")
    sys.stderr.write(shown.encode("utf-8", "backslashreplace").decode("utf-8"))
    sys.stderr.flush()


def before_all(
    context: Any, *, spent_s: float = 0.0, repairs: bool = True, say: Say = to_stderr
) -> dict[str, Any] | None:
    """Check a suite before its run.

    Args:
        context: promptfoo's, with the ``suite``.
        spent_s: how many seconds of the time limit are gone already.
        repairs: whether split transcripts are mended here; the JavaScript hook has done it.
        say: gets one sentence or two at a time.

    Returns:
        The context with a changed suite, or ``None`` to leave promptfoo's as it is.

    Raises:
        StopRun: a gateway, token, agent or configuration cannot work.
    """
    suite = mapping(context).get("suite")
    providers = our_providers(mapping(suite))
    if not isinstance(suite, dict) or not providers:
        return None
    _preflight(providers, BEFORE_S - spent_s, say)
    for sentence in advice(suite):
        say(sentence)
    if not repairs:
        return None
    return dict(context) if _mend(suite, providers, say) else None


def after_all(context: Any, *, say: Say = to_stderr) -> None:
    """Delete the sessions that the run of ``context["evalId"]`` left."""
    evaluation_id = mapping(context).get("evalId")
    if not isinstance(evaluation_id, str) or not evaluation_id:
        return
    if not ledger.left(evaluation_id):
        ledger.forget(evaluation_id)
        return
    # Imported when there is something to do: a run that left nothing does not pay for it.
    from lobu_provider.extension.sweep import sweep
    from lobu_provider.extension.targets import find_targets

    budget = TimeBudget(AFTER_S)
    targets = find_targets(our_providers(mapping(mapping(context).get("suite"))), budget)
    swept = sweep(evaluation_id, targets.reachable, budget.at_most(AFTER_S))
    hide = targets.redactor.text
    if swept.deleted:
        say(f"{_sessions(swept.deleted)} left by this run {_were(swept.deleted)} deleted.")
    if swept.left:
        reasons = [*swept.failed, *targets.faults, *targets.notes]
        why = f" ({hide(reasons[0])})" if reasons else ""
        say(
            f"{_sessions(swept.left)} of this run could not be deleted{why}. "
            "The next run with this hook tries again; a gateway drops them after 24 hours."
        )


def _preflight(providers: list[SeenProvider], limit_s: float, say: Say) -> None:
    budget = TimeBudget(limit_s)  # begins before the imports, which take a part of it
    from lobu_provider.extension.preflight import check
    from lobu_provider.extension.targets import find_targets

    targets = find_targets(providers, budget)
    if not targets.faults:  # a wrong key is told at once
        check(targets, budget)
    hide = targets.redactor.text
    if targets.faults:
        lines = "\n".join(f"  {hide(fault)}" for fault in dict.fromkeys(targets.faults))
        raise StopRun(f"The run was stopped before its first test.\n{lines}")
    for note in dict.fromkeys(targets.notes):
        say(hide(note))
    fault = folder_fault() if targets.reachable else None
    if fault is not None:
        say(fault)
    dead = [run for run in ledger.runs(at_least_quiet_s=ledger.QUIET_S) if run.is_dead]
    if dead:
        from lobu_provider.extension.sweep import sweep

        swept = [
            sweep(run.evaluation_id, targets.reachable, budget.at_most(limit_s))
            for run in dead
            if not budget.is_spent
        ]
        deleted = sum(one.deleted for one in swept)
        if deleted:
            say(f"{_sessions(deleted)} of earlier runs that were killed {_were(deleted)} deleted.")


def _mend(suite: dict[str, Any], providers: list[SeenProvider], say: Say) -> bool:
    """Repair transcripts and transforms if nothing else is lost by returning the suite."""
    split, bare = split_transcripts(suite, providers), bare_transforms(suite)
    if not split and not bare:
        return False
    hole = first_hole(suite)
    if hole is None and config_is_a_program(arguments_of_parent(), Path.cwd()):
        hole = "a JavaScript config"
    if hole is not None:
        say(_unmended([name for name, _ in split], [name for name, _ in bare], hole))
        return False
    repair(split)
    correct(bare)
    return True


def _unmended(split: list[str], bare: list[str], hole: str) -> str:
    what, fixes = [], ["Use the JavaScript hook of the npm package"]
    if split:
        what.append(f"vars.transcript is not kept from being split in {listed(split)}")
        fixes.append("write options: {disableVarExpansion: true}")
    if bare:
        what.append(f"contextTransform is not corrected in {listed(bare)}")
        fixes.append("begin contextTransform with 'context.metadata'")
    return (
        f"{', and '.join(what)}: the suite holds functions ({hole}), which a Python hook would "
        f"remove. {', or '.join(fixes)}."
    )


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
