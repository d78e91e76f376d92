"""Differences planted in pipelines: the pass that was changed must be the one that is named.

The reference is the plugin's toolchain, the candidate the same with a stage-hook plugin that
removes, adds, swaps or re-parametrises one pass. Which passes do something for a kernel is read
from its own trace, so every planting is one that has an effect on the IR.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness import planting
from harness.compile import compile_case
from harness.ledger import Ledger
from harness.model import Case, Compilation, PassStep, Verdict
from harness.record import Record
from harness.result import CaseResult
from harness.selfcheck.table import Finding
from harness.session import Session
from harness.store import Store
from harness.toolchains import (
    Controls,
    Toolchain,
    controls,
    find_descriptor,
    identify,
    overlaid,
)
from harness.workers import Worker

KERNELS = (
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "baseline/matmul/*@cuda:90",
    "baseline/row_softmax/*@cuda:90",
    "baseline/layer_norm/*@cuda:90",
    "dots/operand_orders/*@cuda:90",
    "memory/staged_copy/*@cuda:90",
    "reductions/shared_softmax/*@cuda:90",
    "warp_specialisation/two_tasks/*@cuda:90",
)
REMOVABLE = (
    "tritongpu-coalesce",
    "canonicalize",
    "cse",
    "triton-licm",
    "tritongpu-remove-layout-conversions",
    "triton-loop-aware-cse",
    "tritongpu-optimize-thread-locality",
    "tritongpu-reorder-instructions",
    "tritongpu-accelerate-matmul",
    "tritongpu-pipeline",
    "convert-scf-to-cf",
    "tritongpu-allocate-warp-groups",
    "allocate-shared-memory-nv",
    "canonicalize-llvm-ir",
    "convert-triton-gpu-to-llvm",
)
ADDED = {"convert.add_scf_to_cf": "convert-scf-to-cf"}
SWAPPED = (
    "triton-licm",
    "sccp",
    "tritongpu-accelerate-matmul",
    "tritongpu-assign-latencies",
    "tritongpu-schedule-loops",
)
OPTIONS: dict[str, tuple[object, ...]] = {
    "tritongpu-F32DotTC": (False,),
    "tritongpu-optimize-dot-operands": (False,),
    "triton-nvidia-gpu-fence-insertion": (80,),
    "tritongpu-pipeline": (1, False),
    "tritongpu-assign-latencies": (1,),
    "allocate-shared-memory-nv": (80, 80),
    "convert-triton-to-tritongpu": ("cuda:90", 8, 32, 1),
    "tlx-convert-triton-to-tritongpu": (["cuda:90", "8", "32", "1"],),
    "convert-triton-gpu-to-llvm": (90, 80, False),
}
_EQUAL = (Verdict.IDENTICAL, Verdict.EQUIVALENT)


class Change(Record, frozen=True):
    """One change of a pipeline: ``kind`` at the ``occurrence``-th call of the adder of ``step``,
    with ``arguments`` for ``harness.planting``. Finding any pass of ``names`` finds it."""

    kind: str
    step: PassStep
    occurrence: int
    arguments: dict[str, Any]
    names: tuple[str, ...]


def changes(trace: Sequence[PassStep]) -> list[Change]:
    """What to plant in a pipeline with this trace."""
    planned = []
    for index, occurrence in _acting(trace):
        step = trace[index]
        if step.name in REMOVABLE and step.manager != "make_ttir":
            planned.append(Change("remove", step, occurrence, {}, (step.name,)))
        if step.name == "tritongpu-coalesce":
            for extra, name in ADDED.items():
                planned.append(Change("add", step, occurrence, {"extra": extra}, (name,)))
        if step.name in SWAPPED and index + 1 < len(trace):
            other = trace[index + 1]
            given: dict[str, Any] = {"neighbours": (other.adder,)}
            planned.append(Change("swap", step, occurrence, given, (step.name, other.name)))
    calls: Counter[str] = Counter()
    for step in trace:
        if step.name in OPTIONS and json.loads(step.arguments)[0] != list(OPTIONS[step.name]):
            given = {"arguments": OPTIONS[step.name]}
            planned.append(Change("option", step, calls[step.adder], given, (step.name,)))
        calls[step.adder] += 1
    return planned


def _acting(trace: Sequence[PassStep]) -> list[tuple[int, int]]:
    """(index, occurrence of its adder) of the passes that changed the IR."""
    seen: Counter[str] = Counter()
    found = []
    for index, step in enumerate(trace):
        if index and step.sha256 != trace[index - 1].sha256:
            found.append((index, seen[step.adder]))
        seen[step.adder] += 1
    return found


def plant_pipelines(
    plugin: Toolchain,
    cases: Sequence[Case],
    store: Store,
    hooks: Path,
    jobs: int = 1,
    most: int | None = None,
) -> Iterator[Finding]:
    """Plant every change that the pipelines of ``cases`` allow, or the first ``most`` of each
    kind in each, ``jobs`` at a time; hooks are written to ``hooks``.

    A change that comes to the same code on the GPU leaves nothing to find, and gives no finding.
    """
    given = controls("controlled", {plugin.role: plugin})

    def plant(case: Case, change: Change, hook: Path) -> Finding | None:
        planting.write(hook, change.kind, change.step.adder, change.occurrence, **change.arguments)
        result = _evaluate(plugin, given, store, case, hook)
        same = all(comparison.verdict in _EQUAL for comparison in result.comparisons)
        return None if same and result.outcome == "OK" else _judge(case, change, result)

    planned = [
        (number, case, change)
        for case in cases
        for number, change in enumerate(
            _some(changes(_compiled(plugin, given, case, store).trace), most)
        )
    ]
    planned.sort(key=lambda item: item[0])  # neighbours in different cases: a case has one lock
    with ThreadPoolExecutor(jobs) as pool:
        started = [
            pool.submit(plant, case, change, hooks / f"{case.function}-{number}.py")
            for number, case, change in planned
        ]
        for each in started:
            if (finding := each.result()) is not None:
                yield finding


def _some(planned: list[Change], most: int | None) -> list[Change]:
    """The first ``most`` of each kind, all if None."""
    kinds = dict.fromkeys(change.kind for change in planned)
    return [
        change
        for kind in kinds
        for change in [each for each in planned if each.kind == kind][:most]
    ]


def _compiled(plugin: Toolchain, given: Controls, case: Case, store: Store) -> Compilation:
    with Worker(plugin, given, plain=case.baseline) as worker:
        return compile_case(worker, case, identify(plugin).fingerprint, store, snapshots=True)


def _evaluate(
    plugin: Toolchain, given: Controls, store: Store, case: Case, hook: Path
) -> CaseResult:
    planted = overlaid(plugin, [find_descriptor(str(hook))])
    ledger = Ledger((), datetime.date.today())
    with Session(plugin, planted, store, ledger, "controlled", given) as session:
        return session.evaluate(case)


def _judge(case: Case, change: Change, result: CaseResult) -> Finding:
    found = result.explanation
    named = {birth.pass_name for birth in found.births[:1]} if found else set()
    if found is not None and found.failing_pass:
        named.add(found.failing_pass.partition(": ")[2])
    verdicts = ", ".join(f"{c.stage} {c.verdict.value}" for c in result.comparisons)
    return Finding(
        group="pipelines",
        kind=f"pass: {change.kind}",
        subject=case.id,
        what=f"{change.step.name}, call {change.occurrence} of {change.step.adder}",
        caught=found is not None,
        located=not named.isdisjoint(change.names),
        answer=f"{', '.join(sorted(named)) or 'nothing named'}; {result.outcome}; {verdicts}",
    )
