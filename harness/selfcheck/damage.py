"""Artifacts that are cut off, missing, or not what their stage says: equal to nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from harness import compare
from harness.model import Verdict
from harness.selfcheck.artifacts import answer, different
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding

GROUP = "evidence"
SIDE = "candidate"


def plant_damage(samples: Iterable[Sample]) -> Iterator[Finding]:
    """Cut each artifact off at a byte and at a line, leave it out, and leave out both sides."""
    for sample in samples:
        choice = random.Random(f"{sample.name} damage")
        yield _cut(sample, "cut off at a byte", choice.randrange(1, len(sample.data) - 1))
        breaks = [i for i, byte in enumerate(sample.data[:-1]) if byte == 0x0A]
        if breaks and sample.stage not in ("cubin", "hsaco"):
            yield _cut(sample, "cut off at a line", choice.choice(breaks) + 1)
        yield _missing(sample, "missing stage", None, SIDE)
        yield _missing(sample, "empty stage", b"", SIDE)
    for sample in samples:
        both = compare.compare(sample.stage, None, None)
        yield Finding(
            GROUP,
            "stage missing on both sides",
            sample.name,
            "neither side has it",
            caught=both.verdict is Verdict.DIFFERENT,
            located="reference" in both.note and SIDE in both.note,
            answer=answer(both),
        )


def _cut(sample: Sample, kind: str, at: int) -> Finding:
    found = compare.compare(sample.stage, sample.data, sample.data[:at])
    shown = any(len(hunk.left) > len(hunk.right) or hunk.left for hunk in found.hunks)
    return Finding(
        GROUP,
        kind,
        sample.name,
        f"cut to {at} of {len(sample.data)} bytes",
        caught=different(found),
        located=SIDE in found.note or shown,
        answer=answer(found),
    )


def _missing(sample: Sample, kind: str, other: bytes | None, side: str) -> Finding:
    found = compare.compare(sample.stage, sample.data, other)
    return Finding(
        GROUP,
        kind,
        sample.name,
        f"no {sample.stage} on one side",
        caught=found.verdict is Verdict.DIFFERENT,
        located=side in found.note,
        answer=answer(found),
    )
