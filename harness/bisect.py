"""Bisection over versions: where a verdict changed, in log steps, past versions without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from harness.record import Record

_T = TypeVar("_T")


class Boundary(msgspec.Struct, Generic[_T], frozen=True):
    """Neighbours that differ: ``before`` is the last version seen with the old verdict,
    ``after`` the first seen with another; ``skipped`` lie between them and gave none."""

    before: int
    after: int
    old: _T
    new: _T
    skipped: tuple[int, ...]


class Step(Record, frozen=True):
    """One version that was tried. ``shown`` is what the case showed there, by stage: the verdict
    and the fingerprint of what differs; ``problem`` why the version shows nothing."""

    version: str
    shown: dict[str, str] = {}
    problem: str = ""


class Change(Record, frozen=True):
    """Where a case's verdict changed: between ``before`` and ``after``, both empty if the oldest
    and the newest version that could be judged agree.

    ``versions`` are all that were considered, ``tried`` those that were looked at, both oldest
    first; ``skipped`` lie between ``before`` and ``after`` and cannot be judged.
    """

    case: str
    over: str
    versions: tuple[str, ...]
    tried: tuple[Step, ...]
    before: str = ""
    after: str = ""
    skipped: tuple[str, ...] = ()

    def step(self, version: str) -> Step:
        """What was seen with a version that was tried."""
        return next(step for step in self.tried if step.version == version)


def bisect(count: int, verdict: Callable[[int], _T | None]) -> Boundary[_T] | None:
    """A boundary between versions ``0`` to ``count - 1``, where ``verdict`` changes for the
    first time, or None if the first and last that have a verdict agree.

    ``verdict`` gives None for a version that cannot be judged; it is asked at most once for
    each. If the verdict changes several times, one of the changes is found.
    """
    known: dict[int, _T | None] = {}

    def ask(at: int) -> _T | None:
        if at not in known:
            known[at] = verdict(at)
        return known[at]

    low = next((at for at in range(count) if ask(at) is not None), None)
    if low is None:
        return None
    high = next(at for at in range(count - 1, low - 1, -1) if ask(at) is not None)
    old = ask(low)
    if ask(high) == old:
        return None
    while unknown := [at for at in range(low + 1, high) if at not in known]:
        middle = unknown[len(unknown) // 2]
        found = ask(middle)
        if found == old:
            low = middle
        elif found is not None:
            high = middle
    new = ask(high)
    assert old is not None and new is not None  # both have a verdict
    return Boundary(low, high, old, new, tuple(range(low + 1, high)))
