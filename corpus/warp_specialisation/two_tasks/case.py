"""Two async tasks with captured scalars and pointers: captures in another order or lost show in
the signature of the partition, and in the results."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 24
SLOPE = 0.75


def _spec(dtype: str, block: int, n: int, warps: int, workers: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}-p{workers}",
        signature={
            "x_ptr": f"*{dtype}",
            "low_ptr": "*fp32",
            "high_ptr": "*fp32",
            "slope": "fp32",
            "n": "i32",
        },
        constexprs={"BLOCK": block, "WARPS": workers},
        divisible_by_16=("x_ptr", "low_ptr", "high_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
        speed={"n": 1 << 24},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((n,), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "low_ptr": Output((n,), "fp32"),
            "high_ptr": Output((n,), "fp32"),
            "slope": Scalar(SLOPE),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Product and sum are rounded once each, or once together when fused."""
    tile = np.arange(problem["n"]) // int(str(spec.constexprs["BLOCK"]))
    bias = tile % PROGRAMS
    product = SLOPE * inputs["x_ptr"]

    def expected(value: FloatArray) -> Expected:
        bound = (np.abs(product) + np.abs(value)) * 2.0**-24 * (1 + 2.0**-23) + 2.0**-148
        return Expected(value, bound)

    return {"low_ptr": expected(product + bias), "high_ptr": expected(product - bias)}


KERNEL = Kernel(
    function="two_tasks",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 256, 256 * PROGRAMS * 5 + 77, 4, 4),
        _spec("fp16", 1024, 1024 * PROGRAMS * 4 + 512, 8, 8),
        _spec("bf16", 512, 512 * PROGRAMS * 5 + 1, 4, 2),
    ],
    launch=launch,
    reference=reference,
)
