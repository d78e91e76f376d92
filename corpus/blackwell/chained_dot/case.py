"""An MMA operand in tensor memory: stored from registers, read by the next product.

If the store could be overtaken by the product, or the wait for the product before were lost,
weights of the wrong step would be used.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

TILES = 2


def _spec(dtype: str, block_m: int, block_n: int, dim: int, warps: int, stages: int) -> Spec:
    names = ("q_ptr", "k_ptr", "v_ptr")
    return Spec(
        name=f"{dtype}-{block_m}x{block_n}x{dim}-w{warps}-s{stages}",
        signature=dict.fromkeys(names, f"*{dtype}") | {"o_ptr": "*fp32", "n": "i32"},
        constexprs={"BLOCK_M": block_m, "BLOCK_N": block_n, "DIM": dim},
        divisible_by_16=(*names, "o_ptr"),
        options={"num_warps": warps, "num_stages": stages},
        problem={"n": 4 * block_n + block_n // 2},
        speed={"n": 8192},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = TILES * int(spec.constexprs["BLOCK_M"]), problem["n"]
    dim = int(spec.constexprs["DIM"])
    dtype = spec.signature["q_ptr"][1:]
    return Launch(
        grid=(TILES, 1, 1),
        arguments={
            "q_ptr": Input((m, dim), dtype, specials=False),
            "k_ptr": Input((n, dim), dtype, specials=False),
            "v_ptr": Input((n, dim), dtype, specials=False),
            "o_ptr": Output((m, dim), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The scores' error (gamma_dim, with 2**-22 per addition for a tensor core that truncates)
    and their rounding to the operand type pass through relu unenlarged and into the second
    product, which adds gamma_n on the magnitudes it sums."""
    q, k, v = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr"))
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8}[spec.signature["q_ptr"][1:]]
    dim_u, n_u = q.shape[1] * 2.0**-22, k.shape[0] * 2.0**-22
    scores = q @ k.T
    error = dim_u / (1 - dim_u) * (np.abs(q) @ np.abs(k.T))
    error += half_ulp * (np.abs(scores) + error) + 2.0**-25
    weights = np.maximum(scores, 0.0)
    bound = error @ np.abs(v) + n_u / (1 - n_u) * ((weights + error) @ np.abs(v))
    return {"o_ptr": Expected(weights @ v, bound)}


KERNEL = Kernel(
    function="chained_dot",
    targets=("cuda:100",),
    specs=[
        _spec("fp16", 128, 128, 64, warps=4, stages=1),
        _spec("bf16", 128, 64, 128, warps=8, stages=3),
    ],
    launch=launch,
    reference=reference,
)
