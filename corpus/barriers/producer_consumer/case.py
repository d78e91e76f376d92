"""Full and empty mbarriers between two warp groups over many laps of a ring: a wrong phase hangs
or lets the producer overwrite a tile that was not read yet."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 32
SCALE = 1.5  # exact in every dtype, but the product is not


def _spec(dtype: str, buffers: int, block: int, n: int, warps: int, producers: int) -> Spec:
    return Spec(
        name=f"{dtype}-{buffers}x{block}-w{warps}-p{producers}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "scale": "fp32", "n": "i32"},
        constexprs={"BLOCK": block, "NUM_BUFFERS": buffers, "PRODUCER_WARPS": producers},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = (ROWS, problem["n"])
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input(shape, spec.signature["x_ptr"].removeprefix("*")),
            "y_ptr": Output(shape, "fp32"),
            "scale": Scalar(SCALE),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One float32 product: half an ulp, and half of the smallest subnormal near zero."""
    value = inputs["x_ptr"] * SCALE
    return {"y_ptr": Expected(value, np.abs(value) * 2.0**-24 + 2.0**-150)}


KERNEL = Kernel(
    function="producer_consumer",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 2, 128, 128 * 9 + 37, 4, 4),
        _spec("fp16", 3, 256, 256 * 8, 4, 1),
        _spec("bf16", 4, 512, 512 * 6 + 255, 8, 8),
        _spec("fp32", 1, 128, 128 * 4 + 1, 4, 4),
    ],
    launch=launch,
    reference=reference,
)
