"""Warp-specialised TMA-fed tcgen05 GEMM: full and empty barriers, tcgen05_commit, TMA store.

A phase that is off by one deadlocks or multiplies a half-filled tile; a lost commit starts the
epilogue before the sum is complete.
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
    types: str, blocks: tuple[int, int, int], buffers: int, registers: int, stages: int, k: int
) -> Spec:
    operand, result = types.split("-")
    block_m, block_n, block_k = blocks
    return Spec(
        name=f"{types}-{block_m}x{block_n}x{block_k}-b{buffers}-s{stages}",
        signature={
            "a_desc": f"tensordesc<{operand}[{block_m},{block_k}]>",
            "b_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "c_desc": f"tensordesc<{result}[{block_m},{block_n}]>",
            "k": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "MMA_REGISTERS": registers,
        },
        options={"num_warps": 4, "num_stages": stages},
        problem={"m": block_m + 56, "n": block_n + 48, "k": k},
        speed={"m": 4096, "n": 4096, "k": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = problem["m"], problem["n"], problem["k"]
    operand, result = spec.name.split("-")[:2]
    block_m, block_n, block_k = (
        int(spec.constexprs[name]) for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    )
    return Launch(
        grid=(-(-m // block_m), -(-n // block_n), 1),
        arguments={
            "a_desc": Descriptor(Input((m, k), operand, specials=False), (block_m, block_k)),
            "b_desc": Descriptor(Input((k, n), operand, specials=False), (block_k, block_n)),
            "c_desc": Descriptor(Output((m, n), result), (block_m, block_n)),
            "k": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = a @ b. Products of these types are exact in float32; each of the k additions, in any
    order, loses at most 2**-22 of the magnitudes summed (the tensor core may truncate and
    aligns a group of products to the largest), hence gamma_k; then one rounding of the result.
    """
    a, b = inputs["a_desc"], inputs["b_desc"]
    value = a @ b
    k_u = problem["k"] * 2.0**-22
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b))
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0.0}[spec.name.split("-")[1]]
    # 2**-25: half the spacing of subnormal float16.
    return {"c_desc": Expected(value, bound + half_ulp * (np.abs(value) + bound) + 2.0**-25)}


KERNEL = Kernel(
    function="ws_tma_gemm",
    targets=("cuda:100",),
    specs=[
        _spec("fp16-fp16", (128, 128, 64), 3, 24, 3, k=5 * 64 + 24),
        _spec("bf16-fp32", (128, 64, 64), 4, 48, 1, k=7 * 64),
        _spec("fp8e4nv-bf16", (128, 128, 128), 2, 24, 1, k=4 * 128 + 16),
    ],
    launch=launch,
    reference=reference,
)
