"""A run: one execution over a set of cases, and its record ``run.json``."""

from __future__ import annotations

import datetime
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness import coverage
from harness.batches import Done, evaluate_all
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.model import Case
from harness.result import RUN_VERSION, CaseResult, Part, Run, Status
from harness.session import Session
from harness.store import Store

FILE = "run.json"
ARTIFACTS = "store"  # beside run.json, in a run that carries its artifacts
Elsewhere = Callable[[Sequence[Case], Done], list[CaseResult]]


def execute(
    session: Session,
    corpus: Corpus,
    cases: Sequence[Case],
    jobs: int,
    command: str,
    version: str,
    done: Done = lambda case, result: None,
    part: Part | None = None,
    elsewhere: Elsewhere | None = None,
) -> Run:
    """Evaluate ``cases`` and return the record; a void session evaluates nothing.

    Ledger entries are checked for staleness against the cases of the whole ``corpus``, unless
    ``cases`` are only a ``part`` of those that were chosen: then that is left to merging.
    ``elsewhere`` evaluates the cases in place of ``jobs`` threads here (see
    ``harness.cluster``).
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.monotonic()
    broken = [str(problem) for problem in corpus.problems]
    results: list[CaseResult] = []
    if not session.void:

        def note(case: Case, result: CaseResult | HarnessError) -> None:
            if isinstance(result, HarnessError):
                broken.append(f"{case.id}: {result}")
            done(case, result)

        evaluate = elsewhere or (lambda cases, done: evaluate_all(session, cases, jobs, done))
        results = evaluate(cases, note)
    return Run(
        version=RUN_VERSION,
        started=started,
        seconds=round(time.monotonic() - clock, 3),
        lane=session.lane,
        command=command,
        options=session.arguments,
        harness=version,
        reference=session.roles[0],
        candidate=session.roles[1],
        toolchains=session.identities,
        controls=session.controls.described,
        results=tuple(results),
        ledger_problems=session.ledger.problems(
            [result.case.id for result in results],
            [case.id for case in corpus.cases],
            session.lane,
        )
        if not session.void and part is None
        else (),
        broken=tuple(broken),
        void=session.void,
        coverage=coverage.measure(session.surfaces(), results) if not session.void else (),
        part=part,
    )


def save(run: Run, folder: Path) -> Path:
    """Write ``run.json`` into ``folder``, whole or not at all; returns its path."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".run-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(run), indent=1))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise HarnessError(
            f"run folder {folder}",
            f"cannot be written: {error.strerror or error}",
            "give a writable folder with --out DIR; the store has kept every result",
        ) from error
    return path


def load(path: Path) -> Run:
    """Read a ``run.json``, or the one in a run's folder; raises HarnessError if there is none."""
    file = path / FILE if path.is_dir() else path
    try:
        return msgspec.json.decode(file.read_bytes(), type=Run)
    except FileNotFoundError as error:
        raise HarnessError(
            f"run {file}", "no such file", "run `tlx-equiv run` first, or name the run's folder"
        ) from error
    except (msgspec.DecodeError, msgspec.ValidationError, OSError) as error:
        raise HarnessError(
            f"run {file}",
            f"not a run record of this version: {error}",
            "run `tlx-equiv run` again; what the store holds is not compiled again",
        ) from error


def carry(run: Run, source: Store, target: Store) -> int:
    """Copy what both sides compiled from one store to another, verified on the way: all that
    reports, differences and bundles of the run are made of. Returns how many artifacts
    ``source`` lacks."""
    missing = 0
    for sha in artifacts(run):
        data = None if target.has(sha) else source.get(sha)
        if data is not None:
            target.put(data)
        missing += not target.has(sha)
    return missing


def artifacts(run: Run) -> set[str]:
    """The hashes of everything that both sides compiled."""
    return {
        artifact.sha256
        for result in run.results
        for compilation in result.compilations.values()
        for artifact in compilation.artifacts.values()
    }


def statuses(run: Run) -> Counter[Status]:
    """How many cases have each status (the worst of their judgements)."""
    return Counter(result.status() for result in run.results)


def stage_counts(run: Run) -> dict[str, Counter[str]]:
    """For each stage, how many cases have each verdict; stages in pipeline order."""
    order = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "hsaco")
    counts: dict[str, Counter[str]] = {stage: Counter() for stage in order}
    for result in run.results:
        for comparison in result.comparisons:
            if comparison.stage in counts:
                both = result.produced(comparison.stage)
                text = comparison.verdict.value if both else "NOT PRODUCED"
                counts[comparison.stage][text] += 1
    return {stage: count for stage, count in counts.items() if count}
