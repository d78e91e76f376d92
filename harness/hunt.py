"""The hunt for the version that changed a case's verdict: bisection over real toolchains."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import msgspec

from harness.bisect import Change, Step, bisect
from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.model import Case
from harness.opening import Opening
from harness.result import CaseResult
from harness.toolchains import Role, borrowed
from harness.toolchains.published import override

_NO_LEDGER = Ledger((), datetime.date.min)  # what is expected is no part of a verdict


def hunt(
    case: Case,
    over: Role,
    versions: Sequence[str],
    opening: Opening,
    progress: Callable[[str], None],
) -> Change:
    """Find where the verdict on ``case`` changed among ``versions`` of ``over``, oldest first;
    all else stays as ``opening`` has it.

    Raises HarnessError if none of the versions can be judged.
    """
    steps: dict[int, Step] = {}

    def verdict(at: int) -> dict[str, str] | None:
        steps[at] = _tried(case, over, versions[at], opening, progress)
        return steps[at].shown or None

    boundary = bisect(len(versions), verdict)
    tried = tuple(steps[at] for at in sorted(steps))
    if not any(step.shown for step in tried):
        raise HarnessError(
            f"bisect over {over.name}",
            f"none of its {len(versions)} versions can be judged; {tried[-1].version}:"
            f" {tried[-1].problem}",
            "name others with --from and --to, and see `tlx-equiv doctor`",
        )
    found = Change(case.id, over.name, tuple(versions), tried)
    if boundary is None:
        return found
    return msgspec.structs.replace(
        found,
        before=versions[boundary.before],
        after=versions[boundary.after],
        skipped=tuple(versions[at] for at in boundary.skipped),
    )


def _tried(
    case: Case,
    over: Role,
    version: str,
    opening: Opening,
    progress: Callable[[str], None],
) -> Step:
    progress(f"{over.name} {version}")
    given = override(over, version)
    opened = msgspec.structs.replace(opening, overrides={**opening.overrides, over.name: given})
    try:
        with borrowed(over.name, given, progress), opened.session(_NO_LEDGER) as session:
            if session.void:
                return Step(version, problem=session.void)
            return Step(version, _shown(session.evaluate(case)))
    except HarnessError as error:
        return Step(version, problem=error.cause)


def _shown(result: CaseResult) -> dict[str, str]:
    """The outcome, where it is not a plain success, and the verdict at each stage."""
    outcome = f"{result.outcome} {result.outcome_fingerprint}".strip()
    shown = {} if outcome == "OK" else {"outcome": outcome}
    if all(side.failure is None for side in result.compilations.values()):
        for each in result.comparisons:
            shown[each.stage] = f"{each.verdict.value} {each.fingerprint}".strip()
    return shown
