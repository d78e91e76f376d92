"""On a real GPU: launches of every kind that come out right, and planted faults that do not.

The kernels are CUDA C compiled here by NVRTC, so that only the GPU host's packages are needed;
everything else, from the bundle to the report, is what real cases go through.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Mapping

import cuda_sources
import numpy as np
import pytest
import sample

from harness.case import Expected, FloatArray, Kernel, Spec
from harness.errors import HarnessError
from harness.parity import session
from harness.parity.build import write_bundle
from harness.parity.result import ParityReport, ParityResult
from harness.store import Store

ROWS, COLUMNS = 1024, 300  # fewer columns than the fixed buffers of the kernels
QUIET = 15.0


def _why_not() -> str:
    try:
        session.gpus()
    except HarnessError as problem:
        return f"{problem.thing}: {problem.cause}"
    missing = [m for m in ("cuda", "cuda.bindings.nvrtc") if importlib.util.find_spec(m) is None]
    return f"{missing} not installed" if missing else ""


WHY_NOT = _why_not()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]


def _kernel(ulps: int, timed: bool) -> Kernel:
    """The sample kernel, larger, with a bound that lets some ULPs more pass.

    ``timed`` says whether it is worth timing: 80 MB in and as much out.
    """

    def reference(
        spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
    ) -> dict[str, Expected]:
        value = inputs["x_ptr"] + 1.0
        return {"y_ptr": Expected(value, np.abs(value) * 2.0**-23 * (0.5 + ulps))}

    spec = dataclasses.replace(
        sample.SPEC,
        problem={"rows": ROWS, "n": COLUMNS},
        speed={"rows": 65536, "n": COLUMNS} if timed else None,
    )
    return dataclasses.replace(sample.KERNEL, specs=(spec,), reference=reference)


# name: (fork, plugin, metadata of both, ulps allowed, verdict, part of the reason)
CASES: dict[str, tuple[str, str, dict[str, object], int, str, str]] = {
    "equal": ("right", "otherwise", {}, 0, "BITWISE_EQUAL", ""),
    "same": ("right", "right", {}, 0, "BITWISE_EQUAL", ""),
    "shared": ("shared", "right", {"shared": 100 << 10}, 0, "BITWISE_EQUAL", ""),
    "scratch": ("scratch", "right", {"global_scratch_size": 2048}, 0, "BITWISE_EQUAL", ""),
    "cluster": ("cluster", "right", {"num_ctas": 2}, 0, "BITWISE_EQUAL", ""),
    "cluster-dims": ("cluster", "right", {"cluster_dims": (2, 1, 1)}, 0, "BITWISE_EQUAL", ""),
    "pdl": ("right", "otherwise", {"launch_pdl": True}, 0, "BITWISE_EQUAL", ""),
    "cooperative": (
        *("cooperative", "right"),
        {"launch_cooperative_grid": True, "global_scratch_size": 4},
        *(0, "BITWISE_EQUAL", ""),
    ),
    "constant": ("right", "constant", {}, 0, "WRONG(plugin)", "must be"),
    "wrong-alike": ("constant", "constant", {}, 0, "WRONG(both)", "must be"),
    "flipped": ("right", "flipped", {}, 0, "WRONG(plugin)", "must be"),
    "flipped-in-bound": ("right", "flipped", {}, 1, "DIFFERENT", "by at most 1 ULP"),
    "no-wait": ("right", "no_wait", {}, 0, "", ""),
    "forgets": ("forgets", "right", {}, 0, "WRONG(fork)", "1024 elements of y_ptr are never"),
    "stray": ("right", "stray", {}, 0, "STRAY_WRITE(plugin)", "in red zone between y_ptr"),
    "race": ("race", "right", {}, 0, "NONDETERMINISTIC(fork)", "first in y_ptr[0, 5]"),
    "illegal": ("right", "illegal", {}, 0, "FAULT(plugin)", "illegal memory access"),
    "endless": ("right", "endless", {}, 0, "TIMEOUT(plugin)", "no end after"),
    "refused": ("right", "otherwise", {"shared": 1 << 20}, 0, "FAULT(both)", "INVALID_VALUE"),
    "name": ("right", "otherwise", {"name": "absent"}, 0, "FAULT(both)", "NOT_FOUND"),
    "after": ("right", "otherwise", {}, 0, "BITWISE_EQUAL", ""),
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ParityReport:
    import torch

    folder = tmp_path_factory.mktemp("gpu")
    store = Store(folder / "store")
    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}"
    binaries = {name: cuda_sources.compile_kernel(name, arch) for name in cuda_sources.SOURCES}
    binaries["flipped"] = cuda_sources.flip_rounding(binaries["right"])
    cases = []
    for name, (fork, plugin, metadata, ulps, _, _) in CASES.items():
        kernel = _kernel(ulps, name in ("equal", "same"))
        case = sample.make_case(name, kernel.specs[0], arch=f"{major}{minor}")
        sides = {
            role: sample.compile_as(store, case, role, binaries[source], **metadata)
            for role, source in (("fork", fork), ("plugin", plugin))
        }
        cases.append((case, kernel.specs[0], kernel, sides))
    write_bundle(cases, store, folder / "parity.tar", {})
    return session.run_parity(
        folder / "parity.tar",
        folder / "parity.json",
        slots=session.gpus()[:1],
        quiet=QUIET,
        progress=lambda done, total, result: print(
            f"{result.case} {result.verdict} {result.reason} {result.seconds} {result.speed}"
        ),
    )


def _result(report: ParityReport, name: str) -> ParityResult:
    return next(result for result in report.results if result.case.split("/")[1] == name)


@pytest.mark.parametrize("name", [name for name in CASES if name != "no-wait"])
def test_verdict(report: ParityReport, name: str) -> None:
    *_, verdict, reason = CASES[name]
    result = _result(report, name)
    assert result.verdict == verdict, result.reason
    assert reason in result.reason


def test_a_missing_wait_is_found(report: ParityReport) -> None:
    """What is read instead is undefined: it may be wrong or move, but it never passes."""
    result = _result(report, "no-wait")
    assert result.verdict in ("WRONG(plugin)", "NONDETERMINISTIC(plugin)"), result.reason


def test_the_difference_is_described(report: ParityReport) -> None:
    bits = _result(report, "flipped-in-bound").trials[0].bits[0]
    assert bits.histogram == {"1": bits.differing}
    assert 0 < bits.differing < bits.elements
    assert bits.program == bits.first_index[0]  # one program per row


def test_equal_sides_are_timed(report: ParityReport) -> None:
    speed = _result(report, "equal").speed
    assert speed is not None
    assert speed.verdict in ("same", "slower", "faster")
    assert 0.5 < speed.low <= speed.ratio <= speed.high < 2
    assert all(10 < side.median < 1000 for side in speed.sides.values())
    same = _result(report, "same").speed
    assert same is not None
    assert same.verdict == "one binary"


def test_a_short_kernel_is_given_its_own_time_and_not_its_queueing_s(report: ParityReport) -> None:
    speed = _result(report, "after").speed
    assert speed is not None
    assert speed.verdict == "too short to time"
    assert all(side.high < 2 * side.low for side in speed.sides.values())


def test_the_device_is_named(report: ParityReport) -> None:
    (device,) = report.gpus.values()
    assert device.name
    assert device.driver != "unknown"
    assert device.l2_bytes > 1 << 20


def test_resources_are_the_binary_s(report: ParityReport) -> None:
    used = _result(report, "shared").resources["fork"]
    assert used.registers > 8
    assert used.shared == 100 << 10
