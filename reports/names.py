"""The public TLX names: which side has each, and where cases exercise it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from harness.result import USE_STATES, NameCoverage, Run, Status
from reports.cases import CaseView, statuses_of

SIGNS = dict(zip(USE_STATES, ("\u25cf", "\u25d0", "\u00d7", "?"), strict=True))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NameView:
    """A public TLX name with the cases that use it and how often each status occurs there."""

    entry: NameCoverage
    cases: tuple[CaseView, ...]

    @property
    def shared(self) -> bool:
        """Whether both sides have the name."""
        return len(self.entry.signatures) > 1

    @property
    def only(self) -> str:
        """The side that alone has the name; empty if both have it."""
        return "" if self.shared else next(iter(self.entry.signatures), "")

    @property
    def same(self) -> bool:
        """Whether every side that has the name calls it the same way."""
        return len(set(self.entry.signatures.values())) == 1

    @property
    def statuses(self) -> list[tuple[Status, int]]:
        """How many of the cases have each status, the worst status first."""
        return statuses_of(self.cases)


def names_of(run: Run, cases: Sequence[CaseView]) -> tuple[NameView, ...]:
    """Every name of a run with its cases."""
    by_id = {case.id: case for case in cases}
    return tuple(
        NameView(entry, tuple(by_id[case] for case in entry.cases if case in by_id))
        for entry in run.coverage
    )


def use_counts(run: Run) -> list[tuple[str, Counter[str]]]:
    """For each target that any name was tried on: how many shared names are in each state."""
    shared = [entry for entry in run.coverage if len(entry.signatures) > 1]
    return [
        (target, Counter(entry.state(target) for entry in shared)) for target in run.covered_targets
    ]
