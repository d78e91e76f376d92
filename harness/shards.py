"""Shards: dividing a set of cases between machines, in the same way on each of them.

The division depends on the cases and on recorded costs only. Costs come from the ``run.json``
of an earlier run, which every machine is given alike; so there is no second record to keep.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from statistics import fmean

import msgspec

import harness
from harness.corpus import contents
from harness.errors import HarnessError
from harness.model import Case
from harness.result import Part, Run
from harness.revision import revision
from harness.store import digest

_FORM = re.compile(r"([0-9]+)/([0-9]+)\Z")


def parse(text: str) -> tuple[int, int]:
    """``"2/3"`` as ``(2, 3)``: the second of three; raises HarnessError for anything else."""
    match = _FORM.match(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise HarnessError(
            f"--shard {text}", "not of the form I/N with 1 <= I <= N", "write for example 2/3"
        )
    return int(match[1]), int(match[2])


def recorded_costs(run: Run) -> dict[str, float]:
    """Seconds that each case of a run costs, by id, as measured for its compilations.

    A case whose sides differed was compiled a second time, and explaining it takes about as
    long again; neither is in the record of its first compilations.
    """
    return {
        result.case.id: sum(side.seconds for side in result.compilations.values())
        * (1 + result.rechecked + (result.explanation is not None))
        for result in run.results
    }


def divide(
    cases: Sequence[Case], costs: Mapping[str, float], shares: int
) -> tuple[tuple[Case, ...], ...]:
    """``cases`` in ``shares`` shares of about equal cost, each in the order of ``cases``.

    The most expensive case goes first, each to the share that has least so far; ties are
    broken by id, so the order of ``cases`` does not matter. A case without a recorded cost
    counts as the mean of its kernel's cases, else of all; without any costs all count alike.
    """
    estimated = _estimated(cases, costs)
    loads = [(0.0, 0, share) for share in range(shares)]  # cost, cases, which
    chosen: dict[str, int] = {}
    for case in sorted(cases, key=lambda case: (-estimated[case.id], case.id)):
        load, count, share = heapq.heappop(loads)
        chosen[case.id] = share
        heapq.heappush(loads, (load + estimated[case.id], count + 1, share))
    return tuple(
        tuple(case for case in cases if chosen[case.id] == share) for share in range(shares)
    )


def part(shares: Sequence[Sequence[Case]], index: int) -> Part:
    """The record of share ``index`` (from 1): parts of one division, by one version of the
    harness, have the same ``plan``."""
    named = [sorted((case.id, digest(contents(case))) for case in share) for share in shares]
    plan = digest(msgspec.json.encode([revision(harness), named]))
    return Part((index,), len(shares), plan)


def _estimated(cases: Sequence[Case], costs: Mapping[str, float]) -> dict[str, float]:
    by_kernel: dict[str, list[float]] = {}
    for case in cases:
        if case.id in costs:
            by_kernel.setdefault(case.kernel, []).append(costs[case.id])
    known = [cost for found in by_kernel.values() for cost in found]
    usual = fmean(sorted(known)) if known else 1.0
    return {
        case.id: costs[case.id]
        if case.id in costs
        else fmean(sorted(by_kernel.get(case.kernel, [usual])))
        for case in cases
    }
