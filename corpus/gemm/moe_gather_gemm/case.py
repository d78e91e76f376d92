"""Mixture of experts: two kinds of asynchronous copy, with their own waits, feed one dot.

cp.async groups and an mbarrier must both be waited for at each step; were one wait lost, the dot
would multiply a stale token or weight tile.
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

ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 0.0)}


def _spec(
    operand: str,
    output: str,
    tile: tuple[int, int, int],
    buffers: int,
    warps: int,
    problem: Mapping[str, int],
) -> Spec:
    block_m, block_n, block_k = tile
    return Spec(
        name=f"{operand}-{output}-{block_m}x{block_n}x{block_k}-b{buffers}-w{warps}",
        signature={
            "x_ptr": f"*{operand}",
            "w_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "token_ptr": "*i32",
            "expert_ptr": "*i32",
            "gate_ptr": "*fp32",
            "y_ptr": f"*{output}",
            "slots": "i32",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        divisible_by_16=("x_ptr", "y_ptr", "K"),
        options={"num_warps": warps},
        problem=problem,
        speed={"tokens": 2048, "slots": 4096, "experts": 8, "N": 2048, "K": 2048},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    tokens, slots, experts, n, k = (problem[x] for x in ("tokens", "slots", "experts", "N", "K"))
    block_m, block_n, block_k = (int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    operand = spec.signature["x_ptr"][1:]
    blocks = -(-slots // block_m)
    return Launch(
        grid=(blocks, -(-n // block_n), 1),
        arguments={
            "x_ptr": Input((tokens, k), operand, specials=False),
            "w_desc": Descriptor(
                Input((experts * k, n), operand, specials=False), (block_k, block_n)
            ),
            "token_ptr": Input((slots,), "i32", fill="index", modulo=tokens),
            "expert_ptr": Input((blocks,), "i32", fill="index", modulo=experts),
            "gate_ptr": Input((slots,), "fp32", specials=False),
            "y_ptr": Output((slots, n), spec.signature["y_ptr"][1:]),
            "slots": Scalar(slots),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Slot s: gate[s] times token's row times its expert's matrix.

    Products of two 16-bit floats are exact in float32; the tensor core truncates each product
    and each sum by at most 2**-23 of the largest addend, hence 2K 2**-23 |x||w| in any order.
    The gate adds one rounding to float32, the store one to the output type.
    """
    x = inputs["x_ptr"][inputs["token_ptr"].astype(np.int64)]
    k = x.shape[1]
    w = inputs["w_desc"].reshape(problem["experts"], k, problem["N"])
    gate = inputs["gate_ptr"][:, None]
    block_m = int(spec.constexprs["BLOCK_M"])
    value = np.empty((problem["slots"], problem["N"]))
    size = np.empty_like(value)
    for block, expert in enumerate(inputs["expert_ptr"].astype(np.int64)):
        rows = slice(block * block_m, (block + 1) * block_m)
        value[rows] = gate[rows] * (x[rows] @ w[expert])
        size[rows] = np.abs(gate[rows]) * (np.abs(x[rows]) @ np.abs(w[expert]))
    unit, tiny = ROUNDING[spec.signature["y_ptr"][1:]]
    unit += 2.0**-24
    summing = 2 * k * 2.0**-23 * size
    return {"y_ptr": Expected(value, summing + unit * (np.abs(value) + summing) + tiny)}


def _problem(tokens: int, slots: int, experts: int, n: int, k: int) -> dict[str, int]:
    return {"tokens": tokens, "slots": slots, "experts": experts, "N": n, "K": k}


KERNEL = Kernel(
    function="moe_gather_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", "fp16", (64, 128, 64), 3, 4, _problem(50, 170, 3, 144, 336)),
        _spec("bf16", "fp32", (128, 64, 64), 4, 8, _problem(90, 300, 2, 72, 432)),
        _spec("fp16", "fp32", (64, 64, 32), 2, 4, _problem(33, 129, 3, 80, 176)),
    ],
    launch=launch,
    reference=reference,
)
