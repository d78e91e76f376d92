"""A run that the recorded report in ``data`` is of: the same cases, toolchains and binaries."""

from __future__ import annotations

from pathlib import Path

import msgspec
import sample

from harness.model import Artifact, Case, Compilation, Outcome, Target, ToolchainIdentity
from harness.parity.result import ParityReport, ParityResult, load_report
from harness.result import RUN_VERSION, CaseResult, Judgement, Run, Status

REPORT = Path(__file__).parent / "data" / "parity.json"


def recorded() -> ParityReport:
    """Six cases as measured on an H200."""
    return load_report(REPORT)


def run_of(report: ParityReport) -> Run:
    """The run whose bundle gave ``report``, judged as if its code were equal."""
    return Run(
        version=RUN_VERSION,
        started="2026-12-01T00:00:00+00:00",
        seconds=1.0,
        lane="controlled",
        command="tlx-equiv run",
        harness="0",
        reference="fork",
        candidate="plugin",
        toolchains={
            role: ToolchainIdentity(
                role, stamp.fingerprint, "python", "3.11", "3.8.0", "", stamp.distributions, {}
            )
            for role, stamp in report.toolchains.items()
        },
        controls={},
        results=tuple(_result(result) for result in report.results),
    )


def _result(measured: ParityResult) -> CaseResult:
    name, _, target = measured.case.rpartition("@")
    kernel, _, spec = name.rpartition("/")
    case: Case = msgspec.structs.replace(
        sample.make_case("x"),
        id=measured.case,
        kernel=kernel,
        family=kernel.split("/")[0],
        spec=spec,
        target=Target.parse(target),
    )
    return CaseResult(
        case=case,
        outcome="OK",
        outcome_fingerprint="",
        compilations={
            role: Compilation(case.id, "", role, "", Outcome.OK, {"cubin": Artifact(sha256, 1)})
            for role, sha256 in measured.binaries.items()
        },
        comparisons=(),
        judgements=(Judgement("outcome", Status.PASS, "OK"),),
    )
