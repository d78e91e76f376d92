"""Each toolchain against itself, made a second time from the same pins: all must be identical.

The two environments stand at the same place, one after the other: line information names the
files of a toolchain, so at another place it is other line information. ptxas also writes down when
these files were changed, which is when they were installed; they get one date.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.compile import compile_case
from harness.model import Case, Compilation
from harness.selfcheck.table import Finding
from harness.store import Store
from harness.toolchains import controls, ensure, identify
from harness.workers import Worker

GROUP = "self against self"
DATE = 1_700_000_000  # seconds since 1970


def compare_twins(
    role: str, cases: Sequence[Case], folder: Path, jobs: int, lane: str = "controlled"
) -> Iterator[Finding]:
    """Make ``role`` twice in ``folder``, compile ``cases`` with each, and hold everything that a
    compilation gives against its twin.

    Both have one fingerprint, so each gets a store of its own: in a common one the second
    compilation would be the first one, read again.
    """
    prints, made = [], []
    for number in range(2):
        fingerprint, compilations = _compile(
            role, cases, folder / "cache", Store(folder / f"store{number}"), jobs, lane
        )
        prints.append(fingerprint)
        made.append(compilations)
    same = prints[0] == prints[1]
    yield _finding(f"{role}: fingerprint", role, [] if same else ["fingerprint"])
    for case, left, right in zip(cases, *made, strict=True):
        how = "compiled" if left.failure is None else "refused alike"
        yield _finding(f"{role}: {how}", case.id, _differing(left, right))
    shutil.rmtree(folder)


def _compile(
    role: str, cases: Sequence[Case], cache: Path, store: Store, jobs: int, lane: str
) -> tuple[str, list[Compilation]]:
    """The fingerprint of a new environment, and ``cases`` compiled by it."""
    shutil.rmtree(cache, ignore_errors=True)
    toolchain = ensure(role, cache=cache)
    for path in toolchain.site_packages.rglob("*.py"):
        os.utime(path, (DATE, DATE))
    fingerprint = identify(toolchain).fingerprint
    given = controls(lane, {role: toolchain})
    with (
        Worker(toolchain, given) as usual,
        Worker(toolchain, given, plain=True) as plain,
        ThreadPoolExecutor(jobs) as pool,
    ):

        def compiled(case: Case) -> Compilation:
            worker = plain if case.baseline else usual
            return compile_case(worker, case, fingerprint, store)

        return fingerprint, list(pool.map(compiled, cases))


def _differing(left: Compilation, right: Compilation) -> list[str]:
    """What of two compilations differs, to the last byte (of what was printed: not compared)."""
    differing = [
        stage
        for stage in sorted({*left.artifacts, *right.artifacts} - {"stderr"})
        if left.artifacts.get(stage) != right.artifacts.get(stage)
    ]
    traces = [[(s.manager, s.name, s.options, s.sha256) for s in c.trace] for c in (left, right)]
    if traces[0] != traces[1]:
        differing.append("trace")
    if _how(left) != _how(right):
        differing.append("outcome")
    return differing


def _how(side: Compilation) -> tuple[object, ...]:
    failure = side.failure
    if failure is None:
        return (side.outcome,)
    return side.outcome, failure.phase, failure.pass_name, failure.exception, failure.signal


def _finding(kind: str, subject: str, differing: list[str]) -> Finding:
    return Finding(
        GROUP,
        kind,
        subject,
        "made twice",
        caught=True,
        located=True,
        benign=True,
        flagged=bool(differing),
        answer=f"differs: {', '.join(differing)}" if differing else "identical",
    )
