"""How verdicts, times and sizes went from night to night: plain records for the reports."""

from __future__ import annotations

import hashlib
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.change import Changes
from harness.changes import changes
from harness.errors import HarnessError
from harness.model import Verdict
from harness.night import NOT_PRODUCED, CaseFacts, Night
from harness.record import Record
from harness.result import Status

FILE = "history.json"  # beside run.json
COVERS = 0.5  # of the last night's cases, for a night to count in the trend


class Strip(Record, frozen=True):
    """One kernel in one night: the worst status of its cases, how many of their binaries are
    identical, and a hash of all their verdicts and fingerprints."""

    status: Status
    identical: int
    cases: int
    digest: str


class Point(Record, frozen=True):
    """One night. Pairs are (part, whole).

    ``identical`` counts binaries that are equal byte by byte among those that both sides made;
    ``crossing`` those that the reference's back end makes of the candidate's TTGIR among those
    where that could be told, an identical binary counting as such. ``seconds`` and ``sizes``
    (binaries, bytes) are each side's sums over the cases that all points have. ``speed`` is the
    median of the candidate's times on a GPU over the reference's; None where none was measured.
    """

    started: str
    toolchains: dict[str, str]
    identical: tuple[int, int]
    crossing: tuple[int, int]
    seconds: dict[str, float]
    sizes: dict[str, int]
    kernels: dict[str, Strip]
    exit_status: int = 0
    speed: float | None = None


class Trend(Record, frozen=True):
    """The nights of one series, the latest last, with sums over ``common`` cases.

    ``left_out`` counts nights that had too few of the last one's cases.
    """

    points: tuple[Point, ...] = ()
    common: int = 0
    left_out: int = 0


class Export(Record, frozen=True):
    """What a report may know of history: the contents of ``history.json``."""

    changes: Changes
    trend: Trend


def export(night: Night, earlier: Sequence[Night]) -> Export:
    """What reports of ``night`` may know; ``earlier`` are comparable nights, latest last."""
    return Export(changes(night, earlier), trend([*earlier, night]))


def save(exported: Export, folder: Path) -> None:
    """Write ``history.json`` into a run's folder; raises HarnessError where that fails."""
    try:
        (folder / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(exported), indent=1))
    except OSError as error:
        raise HarnessError(
            str(folder / FILE),
            f"cannot be written: {error.strerror or error}",
            "give a writable folder with --out DIR; the history has the night",
        ) from error


def load(run: Path) -> Export | None:
    """The ``history.json`` beside a ``run.json`` (its path, or its folder); None if there is
    none. Raises HarnessError for one that is malformed."""
    path = (run if run.is_dir() else run.parent) / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Export)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError, OSError) as error:
        raise HarnessError(
            str(path), f"not a history of this version: {error}", "remove it, or run nightly again"
        ) from error


def trend(nights: Sequence[Night]) -> Trend:
    """The trend over ``nights`` of one series, the latest last."""
    measured = [night for night in nights if not night.void]
    if not measured:
        return Trend()
    newest = {facts.case for facts in measured[-1].cases}
    shown = [
        night
        for night in measured
        if len(newest.intersection(f.case for f in night.cases)) >= COVERS * len(newest)
    ]
    common = newest.intersection(*({f.case for f in night.cases if _made(f)} for night in shown))
    return Trend(
        points=tuple(_point(night, common) for night in shown),
        common=len(common),
        left_out=len(measured) - len(shown),
    )


def _point(night: Night, common: set[str]) -> Point:
    binaries = [b for f in night.cases if (b := f.binary) and b.verdict != NOT_PRODUCED]
    same = sum(binary.verdict == Verdict.IDENTICAL.value for binary in binaries)
    crossed = [_crossed(facts) for facts in night.cases]
    kernels: dict[str, list[CaseFacts]] = defaultdict(list)
    for facts in night.cases:
        kernels[facts.kernel].append(facts)
    roles = (night.reference, night.candidate)
    ratios = [f.speed.ratio for f in night.cases if f.speed is not None and f.speed.compared]
    counted = [facts for facts in night.cases if facts.case in common]
    return Point(
        started=night.started,
        toolchains={
            role: " + ".join(side.distributions).replace("==", " ")
            for role, side in night.toolchains.items()
        },
        identical=(same, len(binaries)),
        crossing=(crossed.count("yes"), crossed.count("yes") + crossed.count("no")),
        seconds={role: round(sum(f.sides[role].seconds for f in counted), 3) for role in roles},
        sizes={role: sum(_binary_size(f, role) for f in counted) for role in roles},
        kernels={kernel: _strip(cases) for kernel, cases in kernels.items()},
        exit_status=night.exit_status,
        speed=round(statistics.median(ratios), 4) if ratios else None,
    )


def _crossed(facts: CaseFacts) -> str:
    binary = facts.binary
    return "yes" if binary and binary.verdict == Verdict.IDENTICAL.value else facts.crossing


def _made(facts: CaseFacts) -> bool:
    return all(side.outcome == "OK" for side in facts.sides.values())


def _binary_size(facts: CaseFacts, role: str) -> int:
    sizes = facts.sides[role].sizes
    return sizes.get("cubin", 0) or sizes.get("hsaco", 0)


def _strip(cases: Sequence[CaseFacts]) -> Strip:
    order = list(Status)
    binaries = [facts.binary for facts in cases]
    shown = [
        (
            f.case,
            f.outcome,
            f.outcome_fingerprint,
            [(s.stage, s.verdict, s.fingerprint) for s in f.stages if s.stage != "speed"],
        )
        for f in cases
    ]
    return Strip(
        status=max((facts.status for facts in cases), key=order.index),
        identical=sum(b is not None and b.verdict == Verdict.IDENTICAL.value for b in binaries),
        cases=len(cases),
        digest=hashlib.sha256(repr(shown).encode()).hexdigest()[:16],
    )
