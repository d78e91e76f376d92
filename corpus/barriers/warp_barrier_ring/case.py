"""alloc_warp_barrier, where each thread arrives by itself: if one thread arrived for all, no
phase would complete and the kernel would hang; a group barrier instead shows in the code."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 16


def _spec(buffers: int, block: int, n: int, warps: int, arrivals: int) -> Spec:
    return Spec(
        name=f"fp32-{buffers}x{block}-w{warps}-a{arrivals}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        constexprs={
            "BLOCK": block,
            "NUM_BUFFERS": buffers,
            "WARPS": warps,
            "ARRIVALS": arrivals,
        },
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = (ROWS, problem["n"])
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input(shape, "fp32", specials=False),
            "y_ptr": Output(shape, "fp32"),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Product and sum are rounded once each, or once together when fused: an ulp of x * x and
    one of the result, halved; plus subnormal roundings."""
    x = inputs["x_ptr"]
    value = x * x + x
    bound = (x * x + np.abs(value)) * 2.0**-24 * (1 + 2.0**-23) + 2.0**-148
    return {"y_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="warp_barrier_ring",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec(2, 128, 128 * 7 + 5, 4, 1),
        _spec(3, 512, 512 * 6 + 256, 4, 2),
        _spec(4, 1024, 1024 * 7 + 777, 8, 1),
    ],
    launch=launch,
    reference=reference,
)
