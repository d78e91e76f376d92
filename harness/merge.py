"""Runs of several machines become one: in any order, again and again, never a mixture.

What a run measured is only joined; what follows from all of it (judgements, the ledger's own
problems, coverage) is made anew. A GPU's results join a run in ``harness.parity.merge``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from harness import coverage, judge
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.result import CaseResult, LedgerProblem, Part, Run

_SEPARATOR = "; "
_SAME = "merge runs of one plan: same cases, toolchains, lane and version of tlx-equiv"


def merge(runs: Mapping[str, Run], corpus: Corpus, ledger: Ledger) -> Run:
    """The run that ``runs``, at least one, by name, are parts of.

    Its time is that of the longest of them. A share that none of them has makes it broken, and
    the ledger's own problems are judged only when none is missing. Raises HarnessError for runs
    of different toolchains, lanes, controls, versions or divisions, and for two different
    results of one case.
    """
    (first, one), *others = runs.items()
    for name, other in others:
        _alike(first, one, name, other)
    part = _part(runs.values())
    results = [judge.rejudge(result, ledger, one.lane) for result in _results(runs, corpus)]
    toolchains = {
        role: min((run.toolchains[role] for run in runs.values()), key=msgspec.json.encode)
        for role in one.toolchains
    }
    void = _SEPARATOR.join(_union(run.void.split(_SEPARATOR) for run in runs.values()))
    whole = not void and (part is None or not part.missing)
    return Run(
        version=one.version,
        started=min(run.started for run in runs.values()),
        seconds=max(run.seconds for run in runs.values()),
        lane=one.lane,
        command=_SEPARATOR.join(_union(run.command.split(_SEPARATOR) for run in runs.values())),
        options=one.options,
        harness=one.harness,
        reference=one.reference,
        candidate=one.candidate,
        toolchains=toolchains,
        controls=one.controls,
        results=tuple(results),
        ledger_problems=_problems(results, corpus, ledger, one.lane) if whole else (),
        broken=_broken(runs.values(), part),
        void=void,
        coverage=coverage.measure(_surfaces(runs.values()), results) if not void else (),
        parity_device=_SEPARATOR.join(
            _union(run.parity_device.split(_SEPARATOR) for run in runs.values())
        ),
        part=part,
    )


def _alike(first: str, one: Run, name: str, other: Run) -> None:
    plans = [run.part.plan if run.part else "" for run in (one, other)]
    pairs = {
        "version of tlx-equiv": (one.harness, other.harness),
        "lane": (one.lane, other.lane),
        "sides": (one.reference + ":" + one.candidate, other.reference + ":" + other.candidate),
        "toolchain": tuple(_described(run) for run in (one, other)),
        "control": tuple(run.controls for run in (one, other)),
        "division of the cases": (plans[0][:12] or "undivided", plans[1][:12] or "undivided"),
    }
    for what, (mine, theirs) in pairs.items():
        if mine == theirs:
            continue
        if isinstance(mine, dict) and isinstance(theirs, dict):
            key = next(key for key in {**mine, **theirs} if mine.get(key) != theirs.get(key))
            what, mine, theirs = f"{what} {key}", mine.get(key, "none"), theirs.get(key, "none")
        cause = f"another {what} than {first}: {theirs} there, {mine} here"
        raise HarnessError(f"run {name}", cause, _SAME)


def _described(run: Run) -> dict[str, str]:
    return {
        role: f"{' '.join(identity.distributions)} ({identity.fingerprint[:12]})"
        for role, identity in run.toolchains.items()
    }


def _part(runs: Iterable[Run]) -> Part | None:
    parts = [run.part for run in runs if run.part is not None]
    if not parts:
        return None
    shares = sorted({share for part in parts for share in part.shares})
    return msgspec.structs.replace(parts[0], shares=tuple(shares))


def _results(runs: Mapping[str, Run], corpus: Corpus) -> list[CaseResult]:
    """Each case's one result, in the order of the corpus."""
    found: dict[str, tuple[str, CaseResult]] = {}
    for name, run in runs.items():
        for result in run.results:
            earlier, other = found.setdefault(result.case.id, (name, result))
            if _measured(other) != _measured(result) or (
                other.parity and result.parity and other.parity != result.parity
            ):
                raise HarnessError(
                    f"case {result.case.id}",
                    f"has one result in {earlier} and another in {name}",
                    "leave one of the two runs out",
                )
            if other.parity is None:
                found[result.case.id] = (name, result)
    place = {case.id: number for number, case in enumerate(corpus.cases)}
    last = len(place)
    return [found[key][1] for key in sorted(found, key=lambda key: (place.get(key, last), key))]


def _measured(result: CaseResult) -> CaseResult:
    return msgspec.structs.replace(result, judgements=(), parity=None)


def _broken(runs: Iterable[Run], part: Part | None) -> tuple[str, ...]:
    told = _union(run.broken for run in runs)
    if part is None:
        return tuple(told)
    missing = {share: _missing(share, part.of) for share in range(1, part.of + 1)}
    return (
        *(text for text in told if text not in missing.values()),
        *(missing[share] for share in part.missing),
    )


def _missing(share: int, of: int) -> str:
    return f"shard {share}/{of} is missing: merge its run as well"


def _problems(
    results: list[CaseResult], corpus: Corpus, ledger: Ledger, lane: str
) -> tuple[LedgerProblem, ...]:
    """The ledger's own problems, once it has met every difference."""
    ran = [result.case.id for result in results]
    problems = ledger.problems(ran, [case.id for case in corpus.cases], lane)
    measured = [result.case for result in results if result.parity is not None]
    targets = {case.target for case in measured}
    runnable = [case.id for case in corpus.cases if case.runnable and case.target in targets]
    return problems + ledger.gpu_problems([case.id for case in measured], runnable, lane)


def _surfaces(runs: Iterable[Run]) -> dict[str, coverage.Surface]:
    """Each side's public TLX names, from what the runs recorded of them."""
    found: dict[str, coverage.Surface] = {}
    for run in runs:
        for role in (run.reference, run.candidate):
            found.setdefault(role, {}).update(
                {
                    entry.name: (entry.kind, entry.signatures[role])
                    for entry in run.coverage
                    if role in entry.signatures
                }
            )
    return found


def _union(texts: Iterable[Iterable[str]]) -> list[str]:
    return sorted({text for some in texts for text in some if text})
