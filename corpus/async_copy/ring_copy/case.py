"""Async-copy ring: 2 to 4 buffers, ragged row length, more steps than buffers."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 64


def _spec(buffers: int, block: int, n: int) -> Spec:
    return Spec(
        name=f"fp32-{buffers}x{block}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        constexprs={"BLOCK": block, "NUM_BUFFERS": buffers},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input((ROWS, n), "fp32"),
            "y_ptr": Output((ROWS, n), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One rounding of x + 1 to float32: half an ulp of the result."""
    value = inputs["x_ptr"] + 1.0
    return {"y_ptr": Expected(value, np.abs(value) * 2.0**-24)}


KERNEL = Kernel(
    function="ring_copy",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[_spec(2, 128, 128 * 4 + 37), _spec(3, 128, 128 * 5 + 1), _spec(4, 256, 256 * 6 + 255)],
    launch=launch,
    reference=reference,
)
