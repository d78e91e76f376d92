"""Many cases at once: compiled and concluded batch by batch on a few threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait

from harness.errors import HarnessError
from harness.model import Case, Compilation
from harness.result import CaseResult
from harness.session import Session

BATCH = 24  # cases whose SASS is made by one nvdisasm
Done = Callable[[Case, CaseResult | HarnessError], None]


def evaluate_all(
    session: Session, cases: Sequence[Case], jobs: int, done: Done
) -> list[CaseResult]:
    """Evaluate ``cases``, ``jobs`` at a time; results in the order of ``cases``.

    ``done`` hears of each case as it ends. A case that cannot be evaluated costs only itself.
    While one batch of cases is concluded the next is compiled.
    """
    results: dict[str, CaseResult] = {}

    def conclude(case: Case, first: Future[dict[str, Compilation]]) -> CaseResult:
        return session.conclude(case, first.result())

    def drain(concluding: dict[Future[CaseResult], Case]) -> None:
        for future in as_completed(concluding):
            case = concluding[future]
            error = future.exception()
            if isinstance(error, HarnessError):
                done(case, error)
            else:
                results[case.id] = future.result()
                done(case, results[case.id])

    batches = [cases[at : at + BATCH] for at in range(0, len(cases), BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            concluding: dict[Future[CaseResult], Case] = {}
            following = [pool.submit(session.compile, case) for case in cases[:BATCH]]
            for number, batch in enumerate(batches):
                compiled = following
                wait(compiled)
                later = batches[number + 1] if number + 1 < len(batches) else ()
                following = [pool.submit(session.compile, case) for case in later]
                session.listings.prepare([f.result() for f in compiled if not f.exception()])
                before = concluding
                concluding = {
                    pool.submit(conclude, case, first): case
                    for case, first in zip(batch, compiled, strict=True)
                }
                drain(before)
            drain(concluding)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            session.close()
            raise
    return [results[case.id] for case in cases if case.id in results]
