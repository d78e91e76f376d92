"""Parity as pytest items: skipped with a reason, and measured once for all processes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sample

from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.parity import session
from harness.parity.result import ParityReport
from harness.pytest_parity import Measurements
from harness.result import CaseResult
from harness.store import Store

HERE = Path(__file__).parent


def _why_no_gpu() -> str:
    try:
        session.gpus()
    except HarnessError as problem:
        return f"{problem.thing}: {problem.cause}"
    return ""


@pytest.mark.skipif(not _why_no_gpu(), reason="this machine has a GPU")
def test_without_a_gpu_every_runnable_case_has_a_parity_test_that_says_why_not(
    pytester: pytest.Pytester, write_kernel: Callable[..., Path]
) -> None:
    write_kernel("copy").rename(pytester.path / "kernels")
    pytester.makeini(
        "[pytest]\ntlx_corpus = kernels\naddopts = --import-mode=importlib --strict-markers"
    )
    done = pytester.runpytest_subprocess("kernels", "--tlx-store", "store", "-m", "gpu", "-rs")
    assert done.ret == 0
    assert done.parseoutcomes()["skipped"] == 1
    assert not (pytester.path / "store").exists()  # nothing was compiled for it
    done.stdout.fnmatch_lines([f"*SKIPPED*{_why_no_gpu()[:40]}*"])


def test_one_process_measures_and_the_others_read(
    compiled, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    made = [compiled("a", "add_one", "add_one_otherwise"), compiled("b", "add_one", "add_two")]
    results = {
        case.id: CaseResult(case, "OK", "", dict(sides), (), ()) for case, _, _, sides in made
    }
    cases = [case for case, *_ in made]
    corpus = Corpus(
        tuple(cases), (), {case.id: (sample.KERNEL, sample.SPEC) for case in cases}, {}, ()
    )
    launched = []

    def launch(bundle: Path, out: Path) -> ParityReport:
        launched.append(bundle)
        return session.run_parity(
            bundle, out, slots=("test-pytest",), launcher="host_launcher:HostLauncher"
        )

    def measure(_: int) -> ParityReport:
        one = Measurements(corpus, store, "run-1", lambda case: results[case.id], launch)
        return one.report(cases, {})

    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(measure, range(3)))
    assert len(launched) == 1
    assert reports[0] == reports[1] == reports[2]
    assert [result.verdict for result in reports[0].results] == ["BITWISE_EQUAL", "WRONG(plugin)"]
    assert not launched[0].exists()
    again = Measurements(corpus, store, "run-2", lambda case: results[case.id], launch)
    again.report(cases, {})
    assert len(launched) == 2  # another test run measures anew


def test_what_failed_once_is_not_tried_again_by_the_same_process(store: Store) -> None:
    tried = []

    def fail(bundle: Path, out: Path) -> ParityReport:
        raise AssertionError("there is nothing to launch")

    def evaluate(case: object) -> CaseResult:
        tried.append(case)
        raise HarnessError("toolchain fork", "cannot start", "make it again")

    case = sample.make_case("a")
    corpus = Corpus((case,), (), {case.id: (sample.KERNEL, sample.SPEC)}, {}, ())
    measurements = Measurements(corpus, store, "run", evaluate, fail)
    for _ in range(2):
        with pytest.raises(HarnessError, match="cannot start"):
            measurements.report([case], {})
    assert len(tried) == 1
