"""async_task under constexpr conditions, 0 to 2 helpers: with none left there must be no warp
specialisation at all, otherwise one partition per helper."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 8


def _spec(block: int, helpers: int, n: int) -> Spec:
    return Spec(
        name=f"i32-{block}-h{helpers}",
        signature={"x_ptr": "*i32", "sum_ptr": "*i32", "product_ptr": "*i32", "n": "i32"},
        constexprs={"BLOCK": block, "HELPERS": helpers},
        divisible_by_16=("x_ptr", "sum_ptr", "product_ptr"),
        options={"num_warps": 4},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((n,), "i32", fill="index", modulo=99991),
            "sum_ptr": Output((n,), "i32"),
            "product_ptr": Output((n,), "i32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integer sums are exact; what lies behind the end counts as 0."""
    x, block = inputs["x_ptr"], int(str(spec.constexprs["BLOCK"]))
    tiles = np.pad(x, (0, -x.size % block)).reshape(-1, block)
    rotated = np.roll(tiles, -(block // 2), axis=1).ravel()[: x.size]
    return {"sum_ptr": Expected(x + rotated, 0.0), "product_ptr": Expected(2 * x, 0.0)}


KERNEL = Kernel(
    function="guarded_tasks",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec(256, 0, 256 * PROGRAMS * 5 + 100),
        _spec(256, 1, 256 * PROGRAMS * 5 + 200),
        _spec(512, 2, 512 * PROGRAMS * 4 + 3),
    ],
    launch=launch,
    reference=reference,
)
