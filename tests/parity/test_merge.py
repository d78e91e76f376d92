"""A GPU's results join their own run and no other, and are judged by the ledger."""

from __future__ import annotations

import datetime

import merged
import msgspec
import pytest

from harness import judge
from harness.errors import HarnessError
from harness.ledger import Expectation, Ledger
from harness.model import Artifact
from harness.parity.merge import merge
from harness.parity.result import ParityReport, ParityResult, State
from harness.result import CaseResult, Run, Status

GEMM = "dots/pipelined_gemm/fp16-128x128x64-w4-b3@cuda:90"
SOFTMAX = "reductions/shared_softmax/fp16-2x512-w4@cuda:90"
BULK = "utilities/fenced_bulk_store/i32-256-w2-fence_async_shared@cuda:90"
ATOMIC = "tma/reduce_store/fp16-add-64x64-b2@cuda:90"
SAME = "warp_specialisation/two_tasks/fp32-256-w4-p4@cuda:90"
SHORT = "memory/bit_view/fp32-i32-256-w4@cuda:90"
TODAY = datetime.date(2026, 12, 1)


@pytest.fixture
def report() -> ParityReport:
    return merged.recorded()


@pytest.fixture
def run(report: ParityReport) -> Run:
    return merged.run_of(report)


def _ledger(**fingerprints: tuple[str, ...]) -> Ledger:
    entry = Expectation(
        id="softmax",
        cases=("reductions/*",),
        reason="sums in another order",
        link="https://example.org",
        owner="us",
        expires=datetime.date(2099, 1, 1),
        attribution="base-drift",
        fingerprints=fingerprints,
    )
    return Ledger([entry] if fingerprints else [], TODAY)


def _ids(run: Run) -> list[str]:
    return [result.case.id for result in run.results]


def _merge(run: Run, report: ParityReport, ledger: Ledger | None = None) -> Run:
    return merge(run, report, ledger or _ledger(), _ids(run))[0]


def _of(run: Run, case: str) -> CaseResult:
    return next(result for result in run.results if result.case.id == case)


def _judged(run: Run, case: str) -> dict[str, tuple[Status, str]]:
    return {j.stage: (j.status, j.verdict) for j in _of(run, case).judgements}


def test_equal_bits_pass_and_slower_is_a_finding_of_its_own(run, report) -> None:
    done = _merge(run, report)
    assert _judged(done, GEMM) == {
        "outcome": (Status.PASS, "OK"),
        "parity": (Status.PASS, "BITWISE_EQUAL"),
        "speed": (Status.NEW, "slower"),
    }
    assert _judged(done, SAME)["parity"] == (Status.PASS, "BITWISE_EQUAL")
    assert "speed" not in _judged(done, SAME)  # one binary: nothing to compare
    assert _judged(done, SHORT)["speed"] == (Status.PASS, "too short to time")
    assert judge.exit_status(done) == 1


def test_findings_keep_whose_they_are(run, report) -> None:
    done = _merge(run, report)
    assert _judged(done, SOFTMAX)["parity"] == (Status.NEW, "DIFFERENT")
    assert _judged(done, ATOMIC)["parity"] == (Status.NEW, "NONDETERMINISTIC(both)")
    assert _judged(done, BULK)["parity"] == (Status.NEW, "WRONG(plugin)")
    bulk = _of(done, BULK).parity
    assert bulk is not None
    assert "never written" in bulk.reason


def test_the_record_has_bits_truth_speed_and_device(run, report) -> None:
    done = _merge(run, report)
    assert done.parity_device == "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-12-01"
    parity = _of(done, SOFTMAX).parity
    assert parity is not None
    measured = next(result for result in report.results if result.case == SOFTMAX)
    worst = max(b.differing for trial in measured.trials for b in trial.bits)
    assert worst > 0
    assert max(bits.differing for bits in parity.bits) == worst
    assert {bits.distribution for bits in parity.bits} == {t.distribution for t in measured.trials}
    assert set(parity.truth) == {"fork", "plugin"}
    assert all(0 <= error <= 1 for error in parity.truth.values())
    assert parity.speed is not None
    assert measured.speed is not None
    assert parity.speed.ratio == pytest.approx(measured.speed.ratio, abs=1e-4)
    assert parity.speed.low <= parity.speed.ratio <= parity.speed.high
    assert parity.device == "NVIDIA H200"
    assert parity.registers == {s: used.registers for s, used in measured.resources.items()}


def test_merging_again_changes_nothing_and_json_keeps_it(run, report) -> None:
    once = _merge(run, report)
    assert _merge(once, report) == once
    assert msgspec.json.decode(msgspec.json.encode(once), type=Run) == once


def test_two_parts_give_what_the_whole_gives(run, report) -> None:
    parts = [
        msgspec.structs.replace(report, results=report.results[part])
        for part in (slice(0, 3), slice(3, 6))
    ]
    both = _merge(_merge(run, parts[0]), parts[1])
    assert both == _merge(run, report)


def test_gpus_are_named_while_results_of_theirs_stay(run, report) -> None:
    later = msgspec.structs.replace(report, started="2027-01-02T00:00:00+00:00")
    one = msgspec.structs.replace(later, results=report.results[:1])
    once = _merge(run, report)
    assert _merge(once, one).parity_device.count("NVIDIA H200") == 2
    assert _merge(once, later).parity_device.endswith("CUDA 13.0, 2027-01-02")
    assert _merge(once, later).parity_device.count("NVIDIA H200") == 1


def test_the_ledger_accepts_a_finding_by_state_and_side(run, report) -> None:
    done = _merge(run, report, _ledger(parity=("DIFFERENT",), speed=("slower",)))
    assert _judged(done, SOFTMAX)["parity"][0] is Status.EXPECTED
    assert _judged(done, SOFTMAX)["speed"][0] is Status.EXPECTED
    assert not done.ledger_problems
    worse = _merge(run, report, _ledger(parity=("WRONG(plugin)",), speed=("slower",)))
    assert _judged(worse, SOFTMAX)["parity"][0] is Status.CHANGED


def test_an_entry_that_no_gpu_shows_any_more_is_stale_once_there_is_one(run, report) -> None:
    ledger = _ledger(parity=("DIFFERENT", "WRONG(fork)"))
    assert not ledger.problems(_ids(run), _ids(run), "controlled")  # nothing was launched
    done = _merge(run, report, ledger)
    (problem,) = done.ledger_problems
    assert "parity WRONG(fork)" in problem.message
    assert "DIFFERENT" not in problem.message
    assert judge.exit_status(done) == 1
    assert len(_merge(done, report, ledger).ledger_problems) == 1
    assert not _merge(done, report, _ledger(parity=("DIFFERENT",))).ledger_problems


def test_other_toolchains_are_refused(run, report) -> None:
    stamps = {
        **report.toolchains,
        "plugin": msgspec.structs.replace(report.toolchains["plugin"], fingerprint="f" * 64),
    }
    with pytest.raises(HarnessError, match=r"of other toolchains.*plugin: run .*ffff"):
        _merge(run, msgspec.structs.replace(report, toolchains=stamps))
    with pytest.raises(HarnessError, match="report none"):
        _merge(run, msgspec.structs.replace(report, toolchains={}))


def test_results_of_other_binaries_do_not_join(run, report) -> None:
    changed = []
    for result in run.results:
        if result.case.id == SOFTMAX:
            sides = dict(result.compilations)
            sides["fork"] = msgspec.structs.replace(
                sides["fork"], artifacts={"cubin": Artifact("0" * 64, 1)}
            )
            result = msgspec.structs.replace(result, compilations=sides)
        changed.append(result)
    other = msgspec.structs.replace(run, results=tuple(changed))
    done, refused = merge(other, report, _ledger(), _ids(run))
    assert refused == {SOFTMAX: "its binaries are not those of the run"}
    assert _of(done, SOFTMAX).parity is None
    assert _of(done, GEMM).parity is not None


def test_a_report_of_other_cases_is_refused(run, report) -> None:
    other = msgspec.structs.replace(run, results=())
    with pytest.raises(HarnessError, match="none of its results joins this run"):
        merge(other, report, _ledger(), [])


def test_what_could_not_be_launched_is_never_a_pass(run, report) -> None:
    skipped = ParityResult(GEMM, State.SKIPPED, reason="out of GPU memory")
    results = [skipped if r.case == GEMM else r for r in report.results]
    changed = msgspec.structs.replace(report, results=tuple(results))
    done = _merge(run, changed)
    assert _judged(done, GEMM)["parity"] == (Status.BROKEN, "SKIPPED")
    assert skipped in changed.findings()


def test_a_case_of_another_architecture_is_no_finding_and_does_not_join(run, report) -> None:
    foreign = GEMM.replace("cuda:90", "cuda:100")
    skipped = ParityResult(foreign, State.SKIPPED, reason="compiled for cuda:100")
    changed = msgspec.structs.replace(report, results=(*report.results, skipped))
    assert skipped not in changed.findings()
    (case,) = [r for r in merged.run_of(changed).results if r.case.id == foreign]
    both = msgspec.structs.replace(run, results=(*run.results, case))
    done, refused = merge(both, changed, _ledger(), _ids(both))
    assert refused == {foreign: "compiled for cuda:100, run on cuda:90"}
    assert _of(done, foreign).parity is None


def test_findings_are_all_but_equal_and_not_slower(report) -> None:
    assert {r.case for r in report.findings()} == {GEMM, SOFTMAX, BULK, ATOMIC}
