"""Plain sum reduction: the order of its additions is the compiler's, and the last bits differ with
it, so this is the baseline for every other reduction."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, n: int, warps: int, stages: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}-s{stages}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "n": "i32"},
        constexprs={"BLOCK": block},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps, "num_stages": stages},
        problem={"rows": 64, "n": n},
        speed={"rows": 4096, "n": n * 8},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    return Launch(
        grid=(rows, 1, 1),
        arguments={
            "x_ptr": Input((rows, n), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "y_ptr": Output((rows,), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """An element takes part in at most one addition per tile and BLOCK - 1 in the reduction of a
    tile, in whatever order: gamma of that many float32 roundings times the sum of magnitudes."""
    x, block = inputs["x_ptr"], int(str(spec.constexprs["BLOCK"]))
    additions = -(-problem["n"] // block) + block - 1
    gamma = additions * 2.0**-24 / (1 - additions * 2.0**-24)
    return {"y_ptr": Expected(x.sum(axis=1), gamma * np.abs(x).sum(axis=1))}


KERNEL = Kernel(
    function="row_sum",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 128, 128 * 5 + 31, 4, 3),
        _spec("fp16", 256, 256 * 6, 4, 1),
        _spec("bf16", 256, 256 * 4 + 1, 8, 4),
    ],
    launch=launch,
    reference=reference,
    baseline=True,
)
