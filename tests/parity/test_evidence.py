"""The kept results of a real GPU: whole, of the pinned toolchains, and shown by the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import corpus
from harness.parity.result import ParityReport, State, load_report
from reports.parity_table import update

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "reports" / "evidence" / "parity.json"


@pytest.fixture(scope="module")
def report() -> ParityReport:
    return load_report(EVIDENCE)


def test_it_is_small_and_names_device_driver_and_day(report: ParityReport) -> None:
    assert EVIDENCE.stat().st_size < 500_000
    assert re.match(r"20\d\d-\d\d-\d\dT", report.started)
    (device,) = report.gpus.values()
    assert (device.name, device.arch) == ("NVIDIA H200", "cuda:90")
    assert re.match(r"\d+\.\d+", device.driver)


def test_every_case_has_all_measurements(report: ParityReport) -> None:
    assert len(report.results) > 100
    for result in report.results:
        assert result.state not in (State.SKIPPED, State.FAULT, State.TIMEOUT), result.case
        sides = {"both"} if len(set(result.binaries.values())) == 1 else {"fork", "plugin"}
        distributions = {trial.distribution for trial in result.trials} | set(result.omitted)
        assert distributions == {"normal", "wide", "integers", "specials"}, result.case
        for trial in result.trials:
            assert {repeat.side for repeat in trial.repeats} >= sides, result.case
            assert all(repeat.launches >= 5 for repeat in trial.repeats)
            assert {truth.side for truth in trial.truth} >= sides, result.case
            assert trial.bits or sides == {"both"}, result.case
        assert result.speed is not None
        assert set(result.speed.sides) >= sides, result.case
        assert set(result.resources) >= sides, result.case


def test_the_docs_show_it(report: ParityReport) -> None:
    page = (ROOT / "docs" / "parity.md").read_text()
    assert update(page, report) == page, "run python -m reports.parity_table (see its README)"


def test_it_is_of_the_pinned_toolchains(report: ParityReport) -> None:
    for role, stamp in report.toolchains.items():
        lock = (ROOT / "plugins" / "locks" / f"{role}.txt").read_text()
        pinned = sorted(re.findall(r"^([\w-]+==\S+)", lock, re.MULTILINE))
        assert pinned
        if sorted(stamp.distributions) != pinned:
            pytest.xfail(f"outdated: measured with {sorted(stamp.distributions)}, pinned {pinned}")


def test_its_cases_are_those_of_the_corpus(report: ParityReport) -> None:
    known = {case.id for case in corpus.load([corpus.DEFAULT]).cases if case.runnable}
    gone = {result.case for result in report.results} - known
    if gone:
        pytest.xfail(f"outdated: {len(gone)} cases are no longer runnable, such as {min(gone)}")
