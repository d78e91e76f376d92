"""One mbarrier over many phases without warp specialisation, with several arrivals: a phase that
is waited for twice hangs, a lost count never completes it."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, arrivals: int, count: int, rows: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-a{arrivals}x{count}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*i32", "rows": "i32", "n": "i32"},
        constexprs={"BLOCK": block, "ARRIVALS": arrivals, "COUNT": count},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"rows": rows, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    dtype = spec.signature["x_ptr"].removeprefix("*")
    return Launch(
        grid=(-(-n // int(str(spec.constexprs["BLOCK"]))), 1, 1),
        arguments={
            # Small numbers: the sum stays far from overflow.
            "x_ptr": Input((rows, n), dtype, fill="index", modulo=101),
            "y_ptr": Output((rows, n), "i32"),
            "rows": Scalar(rows),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integer sums are exact."""
    return {"y_ptr": Expected(np.cumsum(inputs["x_ptr"], axis=0), 0.0)}


KERNEL = Kernel(
    function="phase_walk",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("i32", 128, 1, 1, 17, 1000, 4),
        _spec("i8", 512, 4, 1, 32, 2048, 4),
        _spec("i32", 256, 1, 2, 9, 555, 8),
    ],
    launch=launch,
    reference=reference,
)
