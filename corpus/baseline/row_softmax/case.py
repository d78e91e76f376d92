"""Plain softmax: maximum, exponential, sum and division as each side lowers them without TLX."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

# Unit roundoff of the output's type, and half of its smallest subnormal.
ROUNDING = {"fp32": (2.0**-24, 2.0**-150), "fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0)}


def _spec(dtype: str, block: int, n: int, warps: int, stages: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}-s{stages}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "rows": "i32", "n": "i32"},
        constexprs={"BLOCK": block},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps, "num_stages": stages},
        problem={"rows": 100, "n": n, "programs": 32},
        speed={"rows": 8192, "n": n, "programs": 1056},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    dtype = spec.signature["x_ptr"].removeprefix("*")
    return Launch(
        grid=(problem["programs"], 1, 1),
        arguments={
            "x_ptr": Input((rows, n), dtype, specials=False),
            "y_ptr": Output((rows, n), dtype),
            "rows": Scalar(rows),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Relative errors, with u = 2^-24 and d the distance from the row's maximum.

    exp(-d) is the hardware's exp2 of d * log2(e): rounding d and the product moves it by at most
    3 u d, the instruction by 2^-22. The sum inherits the weighted mean of that and adds at most
    n u. The division is within 2 ulp, that is 4 u. Weights below 2^-126 may be flushed to 0.
    """
    u = 2.0**-24
    x = inputs["x_ptr"]
    distance = x.max(axis=1, keepdims=True) - x
    weights = np.exp(-distance)
    total = weights.sum(axis=1, keepdims=True)
    value = weights / total
    of_weight = 3 * u * distance + 2.0**-22
    of_total = (value * of_weight).sum(axis=1, keepdims=True) + problem["n"] * u
    bound = value * (of_weight + of_total + 4 * u) * 1.01 + 2.0**-126
    unit, smallest = ROUNDING[spec.signature["y_ptr"].removeprefix("*")]
    return {"y_ptr": Expected(value, bound + (value + bound) * unit + smallest)}


KERNEL = Kernel(
    function="row_softmax",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 1024, 781, 4, 2),
        _spec("fp16", 512, 512, 8, 3),
        _spec("bf16", 256, 200, 2, 1),
    ],
    launch=launch,
    reference=reference,
    baseline=True,
)
