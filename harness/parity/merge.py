"""A GPU's results join the run whose binaries it launched; judging is ``harness.judge``'s."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from harness import judge
from harness.errors import HarnessError
from harness.ledger import GPU_STAGES, STALE_ON_GPU, Ledger
from harness.parity.result import Device, ParityReport, ParityResult, Speed
from harness.result import BitsOf, CaseResult, Parity, Run, SpeedOf

_SEPARATOR = "; "


def merge(
    run: Run, report: ParityReport, ledger: Ledger, runnable: Iterable[str]
) -> tuple[Run, dict[str, str]]:
    """The run with the report's results, judged, and why some results did not join it.

    Merging the same report again changes nothing. Results that the run already has for other
    cases stay, and are judged anew. ``runnable`` are the ids of the whole corpus' runnable
    cases, against which ledger entries are checked for staleness.
    Raises HarnessError unless the report is of the run's very toolchains, or nothing fits.
    """
    _same_toolchains(run, report)
    of_case = {result.case: result for result in report.results}
    archs = {device.arch for device in report.gpus.values()}
    refused: dict[str, str] = {}
    joined = []
    for result in run.results:
        found = of_case.pop(result.case.id, None)
        if found is not None:
            why = _misfit(result, found, archs)
            if why:
                refused[result.case.id] = why
            else:
                device = report.gpus.get(found.gpu)
                result = msgspec.structs.replace(result, parity=parity_of(found, device))
        joined.append(judged(result, ledger, run.lane))
    refused |= dict.fromkeys(of_case, "not a case of the run")
    if len(refused) == len(report.results):
        why = next(iter(refused.values()), "it has none")
        raise HarnessError(
            "parity report", f"none of its results joins this run ({why})", "bundle this run again"
        )
    measured = [result.case.id for result in joined if result.parity is not None]
    problems = [p for p in run.ledger_problems if p.kind != STALE_ON_GPU]
    # Another GPU's results may have been merged before: its targets count as well.
    targets = archs | {case.rpartition("@")[2] for case in measured}
    whole = [case for case in runnable if case.rpartition("@")[2] in targets]
    problems += ledger.gpu_problems(measured, whole, run.lane)
    # Earlier GPUs stay named while any of their results stay.
    fresh = {result.case for result in report.results} - set(refused)
    stay = any(case not in fresh for case in measured) and run.parity_device
    earlier = run.parity_device.split(_SEPARATOR) if stay else []
    merged = msgspec.structs.replace(
        run,
        results=tuple(joined),
        ledger_problems=tuple(problems),
        parity_device=_SEPARATOR.join(dict.fromkeys([*earlier, *devices_of(report)])),
    )
    return merged, refused


def devices_of(report: ParityReport) -> list[str]:
    """Each GPU of a report in words, with its driver and the day."""
    day = report.started[:10]
    return [
        f"{gpu.name}, driver {gpu.driver}, CUDA {gpu.cuda}, {day}"
        for gpu in dict.fromkeys(report.gpus.values())
    ]


def parity_of(found: ParityResult, device: Device | None) -> Parity:
    """One result in the form that a run keeps: without what only its own case's file needs."""
    truth: dict[str, float] = {}
    for trial in found.trials:
        for judged in trial.truth:
            worst = max(truth.get(judged.side, 0.0), judged.worst_of_bound)
            truth[judged.side] = float(f"{worst:.4g}")
    return Parity(
        verdict=found.verdict,
        state=found.state.value,
        side=found.side,
        reason=found.reason,
        bits=tuple(
            BitsOf(
                trial.distribution,
                bits.output,
                bits.elements,
                bits.differing,
                bits.worst_ulp,
                bits.first_index,
            )
            for trial in found.trials
            for bits in trial.bits
        ),
        truth=truth,
        speed=_speed(found.speed) if found.speed is not None else None,
        registers={side: used.registers for side, used in found.resources.items()},
        local_bytes={side: used.local_bytes for side, used in found.resources.items()},
        omitted=found.omitted,
        device=device.name if device is not None else "",
    )


def _speed(speed: Speed) -> SpeedOf:
    return SpeedOf(
        speed.verdict,
        {side: round(timing.median, 3) for side, timing in speed.sides.items()},
        round(speed.ratio, 4),
        round(speed.low, 4),
        round(speed.high, 4),
    )


def judged(result: CaseResult, ledger: Ledger, lane: str) -> CaseResult:
    """The case with judgements of its parity, if it has any, in place of earlier ones."""
    kept = tuple(j for j in result.judgements if j.stage not in GPU_STAGES)
    if result.parity is not None:
        kept += judge.judge_parity(result.case, result.parity, ledger, lane)
    return msgspec.structs.replace(result, judgements=kept)


def _misfit(result: CaseResult, found: ParityResult, archs: set[str]) -> str:
    if not found.launched and str(result.case.target) not in archs:
        return f"compiled for {result.case.target}, run on {', '.join(sorted(archs))}"
    stage = result.case.target.stages[-1]
    own = {
        role: compilation.artifacts[stage].sha256
        for role, compilation in result.compilations.items()
        if stage in compilation.artifacts
    }
    if found.binaries and found.binaries != own:
        return "its binaries are not those of the run"
    return ""


def _same_toolchains(run: Run, report: ParityReport) -> None:
    ours = {role: _name(t.fingerprint, t.distributions) for role, t in run.toolchains.items()}
    theirs = {role: _name(t.fingerprint, t.distributions) for role, t in report.toolchains.items()}
    if ours == theirs:
        return
    words = [
        f"{role}: run {ours.get(role, 'none')}, report {theirs.get(role, 'none')}"
        for role in dict.fromkeys([*ours, *theirs])
        if ours.get(role) != theirs.get(role)
    ]
    raise HarnessError(
        "parity report",
        f"of other toolchains than the run ({_SEPARATOR.join(words)})",
        "bundle this run with `tlx-equiv bundle`, and run that bundle on the GPU",
    )


def _name(fingerprint: str, distributions: Sequence[str]) -> str:
    return " ".join([*sorted(distributions), fingerprint])
