"""require_layout pins the register layout of a dot's result for the store that follows.

A layout pass that overrides it stores in the matrix unit's own layout, in narrow pieces.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

TILES = 5


def _spec(dtype: str, block_k: int, stages: int, k: int) -> Spec:
    return Spec(
        name=f"{dtype}-k{block_k}-s{stages}",
        signature={"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}", "c_ptr": "*fp16", "k": "i32"},
        constexprs={"BLOCK_K": block_k},
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr", "k"),
        options={"num_warps": 4, "num_stages": stages},
        problem={"k": k},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    k = problem["k"]
    dtype = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(TILES, 1, 1),
        arguments={
            "a_ptr": Input((TILES, 64, k), dtype, specials=False),
            "b_ptr": Input((k, 64), dtype, specials=False),
            "c_ptr": Output((TILES, 64, 64), "fp16"),
            "k": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Products are exact in float32; k additions in any order, each rounding (or truncating) to
    2**-23 at worst: gamma_k; then one rounding to float16."""
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = a @ b
    k_u = problem["k"] * 2.0**-23
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b))
    return {"c_ptr": Expected(value, bound + 2.0**-11 * (np.abs(value) + bound) + 2.0**-25)}


KERNEL = Kernel(
    function="pinned_store",
    targets=("hip:gfx942", "hip:gfx950"),
    primary=("hip:gfx950",),
    specs=[_spec("fp16", 32, 2, k=4 * 32 + 16), _spec("bf16", 64, 1, k=5 * 64)],
    launch=launch,
    reference=reference,
)
