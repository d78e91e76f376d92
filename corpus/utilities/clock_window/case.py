"""clock64 read twice around work; the second value must be the larger.

Two reads merged into one (as if the clock were a constant) would store 0.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(block: int, chain: int, warps: int) -> Spec:
    return Spec(
        name=f"{block}-c{chain}-w{warps}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "order_ptr": "*i32", "n": "i32"},
        constexprs={"BLOCK": block, "CHAIN": chain},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": 5 * block + 77},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    programs = -(-n // int(spec.constexprs["BLOCK"]))
    return Launch(
        grid=(programs, 1, 1),
        arguments={
            "x_ptr": Input((n,), "fp32", specials=False),
            "y_ptr": Output((n,), "fp32"),
            "order_ptr": Output((programs,), "i32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Each step rounds once (halving is exact) and halves the error before it, so the errors sum
    to less than two of the largest: |y| stays below max(|x|, 2)."""
    chain = int(spec.constexprs["CHAIN"])
    x = inputs["x_ptr"]
    value = (x - 2.0) * 0.5**chain + 2.0
    order = np.ones(-(-x.size // int(spec.constexprs["BLOCK"])))
    largest = np.maximum(0.5 * np.abs(x) + 1.0, 2.0)
    return {
        "y_ptr": Expected(value, 2.0 * 2.0**-24 * largest),
        "order_ptr": Expected(order, 0.0),
    }


KERNEL = Kernel(
    function="clock_window",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec(256, 8, 4), _spec(512, 33, 8)],
    launch=launch,
    reference=reference,
)
