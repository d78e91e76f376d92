"""Neutrality: whether loading a plugin changes one byte of what kernels without it compile to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from harness.batches import evaluate_all
from harness.errors import HarnessError
from harness.model import Case, Verdict
from harness.record import Record
from harness.result import CaseResult
from harness.session import Session


class OnTarget(Record, frozen=True):
    """One target: how many kernels were compiled with and without, and what came out.

    ``equal`` and ``changed`` map an artifact's name (a checkpoint, a raw stage file, ``metadata``,
    ``stderr``) to the number of cases and to the ids of those in which it is not the same;
    ``rules`` maps a changed one to the rules after which it is the same in all of them.
    """

    target: str
    cases: int
    equal: dict[str, int]
    changed: dict[str, tuple[str, ...]]
    rules: dict[str, tuple[str, ...]] = {}


class Neutrality(Record, frozen=True):
    """What loading plugins changed. ``void`` says why nothing was measured."""

    plugins: tuple[str, ...]
    reference: str
    candidate: str
    targets: tuple[OnTarget, ...] = ()
    broken: tuple[str, ...] = ()
    void: str = ""

    @property
    def neutral(self) -> bool:
        """Whether something was measured and every byte was the same."""
        measured = sum(each.cases for each in self.targets)
        return bool(measured) and not any(each.changed for each in self.targets) and self.sound

    @property
    def sound(self) -> bool:
        """Whether everything was measured."""
        return not (self.void or self.broken)


def measure(
    session: Session,
    plugins: Sequence[str],
    cases: Sequence[Case],
    jobs: int,
    done: Callable[[Case, CaseResult | HarnessError], None] = lambda case, result: None,
) -> Neutrality:
    """Compile ``cases`` on both sides of ``session``, of which the candidate loads ``plugins``
    besides, and compare every artifact byte by byte; a void session measures nothing."""
    found = Neutrality(tuple(plugins), *session.roles)
    if session.void:
        return msgspec.structs.replace(found, void=session.void)
    broken: list[str] = []

    def note(case: Case, result: CaseResult | HarnessError) -> None:
        if isinstance(result, HarnessError):
            broken.append(f"{case.id}: {result}")
        done(case, result)

    results = evaluate_all(session, cases, jobs, note)
    targets = dict.fromkeys(str(result.case.target) for result in results)
    return msgspec.structs.replace(
        found,
        targets=tuple(
            _on_target(target, [r for r in results if str(r.case.target) == target])
            for target in targets
        ),
        broken=tuple(broken),
    )


def _on_target(target: str, results: Sequence[CaseResult]) -> OnTarget:
    equal: Counter[str] = Counter()
    changed: dict[str, list[str]] = {}
    for result in results:
        without, with_plugin = result.compilations.values()
        for name in sorted(without.artifacts.keys() | with_plugin.artifacts.keys()):
            if without.artifacts.get(name) == with_plugin.artifacts.get(name):
                equal[name] += 1
            else:
                changed.setdefault(name, []).append(result.case.id)
        if without.outcome is not with_plugin.outcome:
            changed.setdefault("outcome", []).append(result.case.id)
    return OnTarget(
        target,
        len(results),
        dict(equal),
        {name: tuple(ids) for name, ids in changed.items()},
        {name: rules for name in changed if (rules := _rules(name, results))},
    )


def _rules(stage: str, results: Sequence[CaseResult]) -> tuple[str, ...]:
    """The rules after which the sides are equal at ``stage`` in every case; none if any is not."""
    compared = [c for result in results for c in result.comparisons if c.stage == stage]
    if any(c.verdict not in (Verdict.IDENTICAL, Verdict.EQUIVALENT) for c in compared):
        return ()
    return tuple(sorted({rule for c in compared for rule in c.rules}))
