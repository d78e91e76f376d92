"""async_load_wait_group with and without tokens: the count of groups in flight is what makes a
pipeline; a smaller one is slower, a larger one reads tiles that have not landed."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

CUDA = ("cuda:80", "cuda:90", "cuda:100")
# gfx942 copies no more than 4 bytes per thread to shared memory; aligned rows give wider copies.
WIDE = (*CUDA, "hip:gfx950")


def _spec(block: int, n: int, tokens: bool, warps: int) -> Spec:
    return Spec(
        name=f"fp32-{block}-w{warps}-{'tokens' if tokens else 'plain'}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "n": "i32"},
        constexprs={"BLOCK": block, "WITH_TOKENS": tokens},
        divisible_by_16=(
            *("x_ptr", "y_ptr", "z_ptr"),
            *(("n",) if n % 16 == 0 else ()),
        ),
        options={"num_warps": warps},
        targets=WIDE if n % 16 == 0 else None,
        problem={"rows": 48, "n": n},
        speed={"rows": 1024, "n": n * 8},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    return Launch(
        grid=(rows, 1, 1),
        arguments={
            "x_ptr": Input((rows, n), "fp32"),
            "y_ptr": Input((rows, n), "fp32"),
            "z_ptr": Output((rows, n), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One rounding to float32: half an ulp. A difference in float32 cannot underflow."""
    value = inputs["x_ptr"] - inputs["y_ptr"]
    return {"z_ptr": Expected(value, np.abs(value) * 2.0**-24)}


KERNEL = Kernel(
    function="token_waits",
    targets=(*CUDA, "hip:gfx942", "hip:gfx950"),
    primary=("hip:gfx950",),
    specs=[
        _spec(512, 512 * 5 + 128, tokens=False, warps=4),
        _spec(512, 512 * 5 + 128, tokens=True, warps=4),
        _spec(256, 256 * 6 + 77, tokens=True, warps=8),
    ],
    launch=launch,
    reference=reference,
)
