"""The real artifacts in which differences are planted: a fixed sample of the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.errors import HarnessError
from harness.model import Case
from harness.record import Record
from harness.session import Session

CASES = (
    "async_copy/ring_copy/fp32-2x128@cuda:80",
    "reductions/shared_softmax/fp32-3x256-w4@cuda:80",
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "baseline/row_softmax/fp32-1024-w4-s2@cuda:90",
    "dots/dot_wait_depths/fp16-64x64x64-w4-b3-p0@cuda:90",
    "warp_specialisation/two_tasks/*@cuda:90",
    "barriers/producer_consumer/fp32-2x128-w4-p4@cuda:90",
    "utilities/last_block_sum/*@cuda:90",
    "tma/store_ring/fp16-64x64-b3-p1@cuda:100",
    "blackwell/tmem_roundtrip/fp32-128x64-w4@cuda:100",
    "memory/staged_copy/fp32-2x128-w4-s3@hip:gfx942",
    "async_copy/ring_copy/fp32-2x128@hip:gfx950",
    "baseline/matmul/fp16-fp32-64x64x32-w4-s3@hip:gfx950",
)
"""Patterns; the first case that each matches is taken."""


class Sample(Record, frozen=True):
    """One stage's artifact of one case, as ``role`` made it."""

    case: str
    role: str
    stage: str
    data: bytes

    @property
    def name(self) -> str:
        """For readers, and the seed of what is planted in it."""
        return f"{self.case} {self.role} {self.stage}"


def gather(session: Session, cases: Sequence[Case]) -> Iterator[Sample]:
    """The artifacts of both sides of ``cases``, compiled if they are not in the store.

    ``sass`` comes from the cubin. Raises HarnessError if a case does not compile on both sides:
    it could not be planted in.
    """
    for case in cases:
        result = session.evaluate(case)
        for role, compilation in result.compilations.items():
            if compilation.failure is not None:
                raise HarnessError(
                    f"case {case.id}",
                    f"does not compile on {role}: {compilation.failure.message[:200]}",
                    "choose another one for harness/selfcheck/material.py",
                )
            for stage in (*case.target.stages, "metadata"):
                data = session.store.read(compilation.artifacts.get(stage))
                if data is None:
                    raise HarnessError(
                        f"{stage} of {case.id} by {role}", "not in the store", "run it again"
                    )
                yield Sample(case.id, role, stage, data)
                if stage == "cubin":
                    yield Sample(case.id, role, "sass", session.listings(data).encode())
