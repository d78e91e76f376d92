"""What the pages show, worked out from a run: plain values, no markup."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from harness.change import Changes
from harness.explanation import AlignedPass
from harness.model import ToolchainIdentity
from harness.result import Run, Status
from harness.trend import Export
from reports.cases import ALARMS, CaseView, KernelView, kernels_of
from reports.gpu import GpuView, gpu_of
from reports.names import NameView, names_of
from reports.plugins import PluginView, plugins_of
from reports.tallies import (
    Figure,
    Group,
    causes_found,
    failures_of,
    figures_of,
    ledger_met,
    stages_of,
)
from reports.trends import TrendView, trend_view


@dataclasses.dataclass(frozen=True, slots=True)
class RunView:
    """A whole run. ``tone`` is ``good``, ``known`` or ``bad``; ``sentence`` is its first line.

    ``sides`` are the reference's and the candidate's role, each with its distributions in words.
    ``changes`` and ``trends`` come from history, where there is one.
    """

    run: Run
    tone: str
    sentence: str
    kernels: tuple[KernelView, ...]
    cases: tuple[CaseView, ...]
    figures: tuple[Figure, ...]
    stages: tuple[tuple[str, Counter[str]], ...]
    news: tuple[CaseView, ...]
    causes: tuple[Group, ...]
    ledger: tuple[Group, ...]
    failures: tuple[Group, ...]
    sides: tuple[tuple[str, str], ...]
    names: tuple[NameView, ...]
    gpu: GpuView
    plugins: tuple[PluginView, ...]
    changes: Changes | None
    trends: TrendView | None

    @property
    def targets(self) -> list[str]:
        """Every target of the run."""
        return sorted({case.target for case in self.cases})


def build(run: Run, history: Export | None = None) -> RunView:
    """Work out everything that the pages show, with what history says of the run."""
    kernels = kernels_of(run)
    cases = tuple(case for kernel in kernels for case in kernel.cases)
    tone, sentence = _sentence(run, cases)
    order = list(Status)
    gpu = gpu_of(cases)
    news = [case for case in cases if case.status in ALARMS]
    return RunView(
        run=run,
        tone=tone,
        sentence=sentence,
        kernels=kernels,
        cases=cases,
        figures=figures_of(run, cases, gpu),
        stages=stages_of(cases),
        news=tuple(sorted(news, key=lambda case: -order.index(case.status))),
        causes=causes_found(cases),
        ledger=ledger_met(cases),
        failures=failures_of(cases),
        sides=tuple(
            (role, distributions(run.toolchains.get(role)))
            for role in (run.reference, run.candidate)
        ),
        names=names_of(run, cases),
        gpu=gpu,
        plugins=plugins_of(run, cases),
        changes=history.changes if history else None,
        trends=trend_view(history.trend, run.reference, run.candidate) if history else None,
    )


def distributions(toolchain: ToolchainIdentity | None) -> str:
    """A toolchain's distributions, ``name version``, those of Triton if there are any."""
    if toolchain is None:
        return "not described in this run"
    of_triton = [d for d in toolchain.distributions if "triton" in d.lower()]
    return " + ".join(d.replace("==", " ") for d in of_triton or toolchain.distributions)


def _sentence(run: Run, cases: Sequence[CaseView]) -> tuple[str, str]:
    if run.void:
        return "bad", f"Void, nothing was measured: {run.void}"
    count = Counter(case.status for case in cases)
    equal = [case for case in cases if _equal_everywhere(case)]
    new = count[Status.NEW] + count[Status.CHANGED]
    parts = [f"{new} new difference{'' if new == 1 else 's'}", f"{count[Status.EXPECTED]} expected"]
    if count[Status.REFUSED]:
        parts.append(f"{count[Status.REFUSED]} refused by both")
    if count[Status.BROKEN]:
        parts.append(f"{count[Status.BROKEN]} not measured")
    parts.append(f"{len(equal)} of {len(cases)} cases equal at every stage")
    problems = len(run.ledger_problems) + len(run.broken)
    if problems:
        parts.append(f"{problems} problem{'' if problems == 1 else 's'} outside the cases")
    bad = new or count[Status.BROKEN] or problems
    good = len(equal) == len(cases)
    return "bad" if bad else "good" if good else "known", ", ".join(parts)


def _equal_everywhere(case: CaseView) -> bool:
    return case.result.outcome.startswith("OK") and all(
        rung.state in ("identical", "equivalent") for rung in case.rungs
    )


def side_of(row: AlignedPass) -> str:
    """``both``, ``reference`` or ``candidate``: who runs the pass of an aligned row.

    A row that is no pass (the front end's result) is both sides' too.
    """
    if (row.left is None) == (row.right is None):
        return "both"
    return "candidate" if row.left is None else "reference"
