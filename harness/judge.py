"""Judging: what a verdict means, given the ledger. The only place that decides pass or fail."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import msgspec

from harness.ledger import Ledger
from harness.model import Case, Comparison, Compilation, Failure, Outcome, Verdict
from harness.result import CaseResult, Check, Judgement, Parity, Run, Status

_VOLATILE = re.compile(r"0x[0-9a-f]+|/[\w./+-]+/|\b\d+\b|%\w+")
GOOD = (Verdict.IDENTICAL, Verdict.EQUIVALENT)


def outcome(reference: Compilation, candidate: Compilation) -> tuple[str, str]:
    """How the two compilations ended, compared: a label and a fingerprint.

    ``OK``; ``ERROR(plugin)`` and its like when one side fails; ``BOTH ERROR`` when both fail
    alike, ``ERROR(fork) CRASH(plugin)`` when they fail differently; ``OK, errors
    printed(plugin)`` when a side succeeded after printing an error, ``BOTH PRINT ERRORS`` when
    both did, and the same one.
    """
    sides = (reference, candidate)
    if all(side.outcome is Outcome.OK for side in sides):
        printed = [side for side in sides if side.printed_errors]
        if not printed:
            return "OK", ""
        label = f"OK, errors printed({', '.join(side.role for side in printed)})"
        if len({_plain(side.printed_errors) for side in sides}) == 1:
            label = "BOTH PRINT ERRORS"
        text = label + "".join(_plain(side.printed_errors) for side in printed)
        return label, _short_hash(text)
    failed = [side for side in sides if side.outcome is not Outcome.OK]
    label = " ".join(f"{side.outcome.value}({side.role})" for side in failed)
    if len(failed) == 2 and reference.outcome is candidate.outcome:
        label = f"BOTH {reference.outcome.value}"
    text = label + "".join(failure_signature(side.failure) for side in failed)
    return label, _short_hash(text)


def failure_signature(failure: Failure | None) -> str:
    """What identifies a failure: phase, pass, and its message without numbers and paths."""
    if failure is None:
        return ""
    first = failure.message.strip().splitlines()[:2]
    return "\n".join([failure.phase, failure.pass_name, *(_plain(line) for line in first)])


def checks_fingerprint(checks: Sequence[Check]) -> str:
    """What identifies the failing FileCheck files of a case; empty if all hold."""
    failed = _failed(checks)
    return _short_hash("\n".join(failed)) if failed else ""


def judge(
    case: Case,
    compilations: Sequence[Compilation],
    outcome_label: str,
    outcome_fingerprint: str,
    comparisons: Sequence[Comparison],
    checks: Sequence[Check],
    ledger: Ledger,
    lane: str,
) -> tuple[Judgement, ...]:
    """Judge a case: its outcome first, then each stage, then its FileCheck files.

    A stage that a failing side did not produce is covered by the judgement on the outcome.
    """
    first = _judge_outcome(case, compilations, outcome_label, outcome_fingerprint, ledger, lane)
    found = [first]
    for comparison in comparisons:
        verdict = _verdict_text(comparison)
        if comparison.verdict in GOOD:
            found.append(Judgement(comparison.stage, Status.PASS, verdict))
        elif first.verdict != "OK" and not all(c.produced(comparison.stage) for c in compilations):
            continue  # the outcome speaks for it
        else:
            found.append(
                _ledger(case, comparison.stage, verdict, comparison.fingerprint, ledger, lane)
            )
    if checks:
        found.append(_judge_checks(case, checks, ledger, lane))
    return tuple(found)


def rejudge(result: CaseResult, ledger: Ledger, lane: str) -> CaseResult:
    """The case with all its judgements made anew: by another ledger, or one that has to meet
    every difference of a run to know which of its entries are stale."""
    found = judge(
        result.case,
        list(result.compilations.values()),
        result.outcome,
        result.outcome_fingerprint,
        result.comparisons,
        result.checks,
        ledger,
        lane,
    )
    if result.parity is not None:
        found += judge_parity(result.case, result.parity, ledger, lane)
    return msgspec.structs.replace(result, judgements=found)


def judge_parity(case: Case, parity: Parity, ledger: Ledger, lane: str) -> tuple[Judgement, ...]:
    """Judge what a GPU showed: the bits (stage ``parity``), and the speed if it was compared.

    Equal bits pass and so does a candidate that is not slower beyond noise; anything else is
    for the ledger, but a case that could not be launched is never as expected.
    """
    prints = parity_fingerprints(parity)
    if parity.state == "SKIPPED":
        return (Judgement("parity", Status.BROKEN, parity.verdict, "", parity.reason),)
    found = [Judgement("parity", Status.PASS, parity.verdict)]
    if "parity" in prints:
        found = [_ledger(case, "parity", parity.verdict, prints["parity"], ledger, lane)]
    if "speed" in prints:
        found.append(_ledger(case, "speed", prints["speed"], prints["speed"], ledger, lane))
    elif parity.speed is not None and parity.speed.compared:
        found.append(Judgement("speed", Status.PASS, parity.speed.verdict))
    return tuple(found)


def parity_fingerprints(parity: Parity | None) -> dict[str, str]:
    """What identifies a finding on a GPU, by stage: its state and side, or ``slower``.

    Neither depends on measured numbers, which vary from run to run.
    """
    found = {}
    if parity is not None and parity.state not in ("BITWISE_EQUAL", "SKIPPED"):
        found["parity"] = parity.verdict
    if parity is not None and parity.speed is not None and parity.speed.verdict == "slower":
        found["speed"] = "slower"
    return found


def exit_status(run: Run) -> int:
    """0 all as expected, 1 an unexpected difference or ledger problem, 2 void or broken."""
    if run.void or run.broken:
        return 2
    bad = (Status.NEW, Status.CHANGED, Status.BROKEN)
    unexpected = any(judgement.status in bad for _, judgement in run.judgements())
    return 1 if unexpected or run.ledger_problems else 0


def _judge_outcome(
    case: Case,
    compilations: Sequence[Compilation],
    label: str,
    fingerprint: str,
    ledger: Ledger,
    lane: str,
) -> Judgement:
    harness = [c for c in compilations if c.failure and c.failure.phase == "harness"]
    if harness:
        reason = f"{harness[0].role}: {harness[0].failure.message}" if harness[0].failure else ""
        return Judgement("outcome", Status.BROKEN, label, "", reason)
    if case.expect == "refuse":
        if label.startswith("BOTH ") and Outcome.CRASH.value not in label:
            return Judgement("outcome", Status.PASS, label, "", "both sides refuse, as they must")
        if label == "OK":
            text = "written to be refused, but both sides compile it"
            return Judgement("outcome", Status.NEW, label, "", text)
    if label == "OK":
        return Judgement("outcome", Status.PASS, label)
    judged = _ledger(case, "outcome", label, fingerprint, ledger, lane)
    unexpected = judged.status is Status.NEW or (
        judged.status is Status.CHANGED and case.expect == "refuse"
    )
    if unexpected and label.startswith("BOTH "):
        return Judgement(
            "outcome", Status.REFUSED, label, "", "both sides fail alike: agreement, not a pass"
        )
    return judged


def _judge_checks(case: Case, checks: Sequence[Check], ledger: Ledger, lane: str) -> Judgement:
    failed = _failed(checks)
    if not failed:
        return Judgement("check", Status.PASS, f"{len(checks)} hold")
    text = f"FAILED({', '.join(failed)})"
    return _ledger(case, "check", text, checks_fingerprint(checks), ledger, lane)


def _ledger(
    case: Case, stage: str, verdict: str, fingerprint: str, ledger: Ledger, lane: str
) -> Judgement:
    entry, near = ledger.find(case.id, stage, fingerprint, lane)
    if entry is not None:
        return Judgement(stage, Status.EXPECTED, verdict, entry.id, entry.reason)
    if near is not None:
        return Judgement(
            stage,
            Status.CHANGED,
            verdict,
            near.id,
            f"expectation {near.id!r} accepts another difference here, not {fingerprint}",
        )
    return Judgement(stage, Status.NEW, verdict, "", f"not in the ledger ({fingerprint})")


def _verdict_text(comparison: Comparison) -> str:
    text = comparison.verdict.value
    if comparison.verdict is Verdict.EQUIVALENT:
        return f"{text}({', '.join(comparison.rules)})"
    return f"{text}({comparison.side})" if comparison.side else text


def _failed(checks: Sequence[Check]) -> list[str]:
    return sorted(f"{check.role}:{check.file}" for check in checks if not check.passed)


def _plain(text: str) -> str:
    return _VOLATILE.sub("#", text)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
