"""warp_pipeline_stage splits the loop into a reading and a multiplying stage, by priority.

Markers that vanish leave a plain loop (same values, no overlap); a barrier lost between the
stages lets one group of waves read a tile that the other is fetching over.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(types: str, blocks: tuple[int, int, int], buffers: int, warps: int) -> Spec:
    operand, result = types.split("-")
    block_m, block_n, block_k = blocks
    return Spec(
        name=f"{types}-{block_m}x{block_n}x{block_k}-b{buffers}-w{warps}",
        signature={
            "a_ptr": f"*{operand}",
            "b_ptr": f"*{operand}",
            "c_ptr": f"*{result}",
            "m": "i32",
            "n": "i32",
            "k": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr", "m", "n", "k"),
        options={"num_warps": warps, "num_stages": 1},
        problem={"m": block_m + 48, "n": block_n + 32, "k": (buffers + 3) * block_k},
        speed={"m": 4096, "n": 4096, "k": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = problem["m"], problem["n"], problem["k"]
    operand = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(
            -(-m // int(spec.constexprs["BLOCK_M"])),
            -(-n // int(spec.constexprs["BLOCK_N"])),
            1,
        ),
        arguments={
            "a_ptr": Input((m, k), operand, specials=False),
            "b_ptr": Input((k, n), operand, specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"][1:]),
            "m": Scalar(m),
            "n": Scalar(n),
            "k": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Products are exact in float32; k additions in any order, each rounding (or truncating) to
    2**-23 at worst: gamma_k; then one rounding of the result."""
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = a @ b
    k_u = problem["k"] * 2.0**-23
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b))
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0.0}[spec.signature["c_ptr"][1:]]
    return {"c_ptr": Expected(value, bound + half_ulp * (np.abs(value) + bound) + 2.0**-25)}


KERNEL = Kernel(
    function="warp_pipeline_gemm",
    targets=("hip:gfx950",),
    specs=[
        _spec("fp16-fp32", (128, 128, 64), 4, 8),
        _spec("bf16-bf16", (256, 128, 32), 3, 8),
    ],
    launch=launch,
    reference=reference,
)
