"""Device-made TMA descriptors: in allocate_tensor_descriptor's scratch, and in the compiler's own.

The scratch size, its indexing, the fence between writing and using a descriptor and the swizzle
that it encodes must agree with the shared-memory layout, or tiles land permuted or not at all.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 2.0**-150)}


def _spec(
    dtype: str, tile: tuple[int, int], own: bool, hints: bool, warps: int, m: int, n: int
) -> Spec:
    return Spec(
        name=f"{dtype}-{tile[0]}x{tile[1]}-{'own' if own else 'auto'}",
        signature={
            "x_ptr": f"*{dtype}",
            "y_ptr": f"*{dtype}",
            "M": "i32",
            "N": "i32",
            "alpha": "fp32",
        },
        constexprs={
            "BLOCK_M": tile[0],
            "BLOCK_N": tile[1],
            "NUM_BUFFERS": 2,
            "OWN_SCRATCH": own,
        },
        divisible_by_16=("x_ptr", "y_ptr", "N") if hints else (),
        options={"num_warps": warps},
        problem={"m": m, "n": n},
        speed={"m": 8192, "n": 8192},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(-(-m // int(spec.constexprs["BLOCK_M"])), 1, 1),
        arguments={
            "x_ptr": Input((m, n), dtype, specials=False),
            "y_ptr": Output((m, n), dtype),
            "M": Scalar(m),
            "N": Scalar(n),
            "alpha": Scalar(1.5),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The output is 1.5 x: the product rounds once to float32 and once to the element type."""
    value = 1.5 * inputs["x_ptr"]
    unit, tiny = ROUNDING[spec.signature["x_ptr"][1:]]
    return {"y_ptr": Expected(value, np.abs(value) * (unit + 2.0**-24) + tiny)}


KERNEL = Kernel(
    function="device_descriptor",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64), True, True, 4, 200, 64 * 4 + 48),
        _spec("bf16", (128, 32), False, True, 8, 260, 32 * 5 + 16),
        _spec("fp32", (32, 64), True, False, 2, 50, 64 * 4 + 4),
        _spec("fp32", (64, 32), False, False, 4, 130, 32 * 6 + 28),
    ],
    launch=launch,
    reference=reference,
)
