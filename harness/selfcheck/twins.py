"""Each toolchain against a second one, made from the same pins: everything must be identical."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from harness.compile import Worker, compile_case
from harness.model import Case, Compilation
from harness.selfcheck.table import Finding
from harness.store import Store
from harness.toolchains import Controls, Toolchain, identify

Compile = Callable[[Case], Compilation]


def compare_twins(
    twins: tuple[Toolchain, Toolchain],
    cases: Sequence[Case],
    stores: tuple[Store, Store],
    controls: tuple[Controls, Controls],
    jobs: int,
) -> Iterator[Finding]:
    """Compile ``cases`` with both, and hold everything that a compilation gives against its twin.

    The two have one fingerprint, so each needs a store of its own: in a common one the second
    compilation would be the first one, read again. Each has the ``controls`` of its own kind too.
    """
    first, second = twins
    prints = [identify(toolchain).fingerprint for toolchain in twins]
    yield Finding(
        group="self against self",
        kind=f"{first.role}: fingerprint",
        subject=first.role,
        what=f"{first.interpreter} and {second.interpreter}",
        caught=prints[0] == prints[1],
        located=first.interpreter != second.interpreter,
        benign=True,
        flagged=prints[0] != prints[1],
    )
    workers = [
        [Worker(toolchain, given, plain=plain) for plain in (False, True)]
        for toolchain, given in zip(twins, controls, strict=True)
    ]

    def both(case: Case) -> tuple[Compilation, Compilation]:
        left, right = (
            compile_case(pair[case.baseline], case, fingerprint, store)
            for pair, fingerprint, store in zip(workers, prints, stores, strict=True)
        )
        return left, right

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for case, pair in zip(cases, pool.map(both, cases), strict=True):
                yield _judge(first.role, case, *pair)
    finally:
        for worker in (worker for pair in workers for worker in pair):
            worker.close()


def _judge(role: str, case: Case, left: Compilation, right: Compilation) -> Finding:
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
    return Finding(
        group="self against self",
        kind=f"{role}: {'compiled' if left.failure is None else 'refused alike'}",
        subject=case.id,
        what="compiled by two environments",
        caught=True,
        located=True,
        benign=True,
        flagged=bool(differing),
        answer=", ".join(differing) or "identical",
    )


def _how(side: Compilation) -> tuple[object, ...]:
    failure = side.failure
    if failure is None:
        return (side.outcome,)
    return side.outcome, failure.phase, failure.pass_name, failure.exception, failure.signal
