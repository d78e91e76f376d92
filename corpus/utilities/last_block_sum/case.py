"""fence("gpu") and fence("sys") order partial sums against a relaxed arrival counter.

Without the fence the last program may read a part that has not arrived: a wrong sum, sometimes.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(scope: str, block: int, programs: int, warps: int) -> Spec:
    return Spec(
        name=f"{scope}-{block}-p{programs}-w{warps}",
        signature={
            "x_ptr": "*i32",
            "parts_ptr": "*i32",
            "arrivals_ptr": "*i32",
            "sum_ptr": "*i32",
            "n": "i32",
        },
        constexprs={"BLOCK": block, "STEPS": 4, "PROGRAMS": programs, "SCOPE": scope},
        divisible_by_16=("x_ptr", "parts_ptr"),
        options={"num_warps": warps},
        problem={"n": block * 4 * programs - 3 * block - 29},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    programs = int(spec.constexprs["PROGRAMS"])
    return Launch(
        grid=(programs, 1, 1),
        arguments={
            "x_ptr": Input((problem["n"],), "i32", fill="index", modulo=1013),
            "parts_ptr": Output((programs,), "i32"),
            "arrivals_ptr": Output((1,), "i32", initial="zero"),
            "sum_ptr": Output((1,), "i32"),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integer sums below 2**31: exact, in any order."""
    programs = int(spec.constexprs["PROGRAMS"])
    chunk = int(spec.constexprs["BLOCK"]) * int(spec.constexprs["STEPS"])
    padded = np.zeros(programs * chunk)
    padded[: problem["n"]] = inputs["x_ptr"]
    parts = padded.reshape(programs, chunk).sum(axis=1)
    return {
        "parts_ptr": Expected(parts, 0.0),
        "arrivals_ptr": Expected(np.array([float(programs)]), 0.0),
        "sum_ptr": Expected(parts.sum(keepdims=True), 0.0),
    }


KERNEL = Kernel(
    function="last_block_sum",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("gpu", 512, 128, 4), _spec("sys", 1024, 32, 8)],
    launch=launch,
    reference=reference,
)
