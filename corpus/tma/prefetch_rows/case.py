"""TMA prefetch into L2 (predicated, with an eviction policy) and of the descriptor itself.

A prefetch changes no result, so only the IR shows whether a side dropped it.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import (
    Descriptor,
    Expected,
    FloatArray,
    Input,
    Kernel,
    Launch,
    Output,
    Scalar,
    Spec,
)


def _spec(
    dtype: str,
    tile: tuple[int, int],
    distance: int,
    policy: str,
    tensormap: bool,
    m: int,
    n: int,
) -> Spec:
    return Spec(
        name=f"{dtype}-d{distance}{'-' * bool(policy)}{policy}{'-tensormap' * tensormap}",
        signature={
            "x_desc": f"tensordesc<{dtype}[{tile[0]},{tile[1]}]>",
            "sum_ptr": "*fp32",
            "M": "i32",
            "N": "i32",
        },
        constexprs={
            "BLOCK_M": tile[0],
            "BLOCK_N": tile[1],
            "NUM_BUFFERS": 2,
            "DISTANCE": distance,
            "POLICY": policy,
            "TENSORMAP": tensormap,
        },
        divisible_by_16=("sum_ptr",),
        options={"num_warps": 4},
        problem={"m": m, "n": n},
        speed={"m": 8192, "n": 8192},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    block = (int(spec.constexprs["BLOCK_M"]), int(spec.constexprs["BLOCK_N"]))
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    return Launch(
        grid=(-(-m // block[0]), 1, 1),
        arguments={
            "x_desc": Descriptor(Input((m, n), dtype, specials=False), block),
            "sum_ptr": Output((m,), "fp32"),
            "M": Scalar(m),
            "N": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Row sums in float32: N additions in some order, each within 2**-24 of sum(|x|)."""
    x = inputs["x_desc"]
    bound = (x.shape[1] + 1) * 2.0**-24 * np.abs(x).sum(axis=1)
    return {"sum_ptr": Expected(x.sum(axis=1), bound)}


KERNEL = Kernel(
    function="prefetch_rows",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64), 2, "", False, 200, 64 * 7 + 24),
        _spec("fp32", (32, 32), 1, "evict_last", False, 50, 32 * 6 + 4),
        _spec("bf16", (64, 64), 3, "evict_first", True, 130, 64 * 8 + 56),
    ],
    launch=launch,
    reference=reference,
)
