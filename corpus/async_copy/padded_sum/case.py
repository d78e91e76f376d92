"""async_load with mask and other=: without the filling, the tail of the last tile still holds an
earlier tile's elements, and they are counted twice."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 64
CUDA = ("cuda:80", "cuda:90", "cuda:100")
HIP = ("hip:gfx942", "hip:gfx950")


def _spec(
    dtype: str, fill: float, buffers: int, block: int, n: int, targets: tuple[str, ...]
) -> Spec:
    return Spec(
        name=f"{dtype}-fill{fill:g}-{buffers}x{block}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "n": "i32"},
        constexprs={"FILL": fill, "BLOCK": block, "NUM_BUFFERS": buffers},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": 4},
        targets=targets,
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input((ROWS, n), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "y_ptr": Output((ROWS,), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """An element takes part in at most one addition per tile and BLOCK - 1 in the reduction of a
    tile, in whatever order: gamma of that many float32 roundings times the sum of magnitudes."""
    block, fill = int(str(spec.constexprs["BLOCK"])), float(str(spec.constexprs["FILL"]))
    x = np.pad(inputs["x_ptr"], [(0, 0), (0, -problem["n"] % block)], constant_values=fill)
    additions = x.shape[1] // block + block - 1
    gamma = additions * 2.0**-24 / (1 - additions * 2.0**-24)
    return {"y_ptr": Expected(x.sum(axis=1), gamma * np.abs(x).sum(axis=1))}


KERNEL = Kernel(
    function="padded_sum",
    targets=CUDA + HIP,
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 0.0, 2, 128, 128 * 4 + 37, CUDA + HIP),
        _spec("fp16", 0.0, 3, 512, 512 * 5 + 16, CUDA),
        # Not for sm_90, which is launched: the hardware's copy can only fill with zeros, and both
        # sides' NVIDIA back ends drop any other number without a word.
        _spec("fp32", 1.0, 3, 128, 128 * 5 + 1, ("cuda:80", "cuda:100", *HIP)),
    ],
    launch=launch,
    reference=reference,
)
