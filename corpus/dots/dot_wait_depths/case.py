"""async_dot_wait with 0 to 3 dots left pending, for fp16, both fp8 formats and int8.

Each depth must reach the hardware wait as written: a larger one reads unfinished sums or lets a
copy overwrite an operand in use, a smaller one serialises the tensor core.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import (
    Expected,
    FloatArray,
    Input,
    Kernel,
    Launch,
    Output,
    Scalar,
    Spec,
    dtype,
)

STEP = 32  # fp8 wgmma: products added to the accumulator at a time


def _spec(
    operand: str,
    tile: tuple[int, int, int],
    warps: int,
    buffers: int,
    pending: int,
    sizes: tuple[int, int, int],
) -> Spec:
    block_m, half_n, block_k = tile
    accumulator = "int32" if operand == "i8" else "float32"
    return Spec(
        name=f"{operand}-{block_m}x{half_n}x{block_k}-w{warps}-b{buffers}-p{pending}",
        signature={
            "x_ptr": f"*{operand}",
            "w_ptr": f"*{operand}",
            "c_ptr": "*i32" if operand == "i8" else "*fp32",
            "M": "i32",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "HALF_N": half_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "PENDING": pending,
            "ACCUMULATOR": dtype(accumulator),
        },
        divisible_by_16=("x_ptr", "w_ptr", "c_ptr", "K"),
        options={"num_warps": warps},
        problem=dict(zip("MNK", sizes, strict=True)),
        speed={"M": 4096, "N": 4096, "K": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    tiles = -(-m // int(spec.constexprs["BLOCK_M"])) * -(-n // (2 * int(spec.constexprs["HALF_N"])))
    operand = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(tiles, 1, 1),
        arguments={
            "x_ptr": Input((m, k), operand, specials=False),
            "w_ptr": Input((n, k), operand, specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"][1:]),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = X W^T.

    int8: exact (|sum| < 2**31 for K < 2**17). fp16: 2K truncations of 2**-23 |X||W|. fp8: the
    accumulator keeps 13 fraction bits; every addend of a step of 32 products is truncated
    relative to the largest of them, at most the largest product or the largest |prefix sum|
    (K is summed in ascending steps), so each step adds 34 * 2**-13 of that.
    """
    x, w = inputs["x_ptr"], inputs["w_ptr"]
    operand, k = spec.signature["x_ptr"][1:], x.shape[1]
    value = x @ w.T
    if operand == "i8":
        return {"c_ptr": Expected(value, 0.0)}
    if operand == "fp16":
        bound = 2 * k * 2.0**-23 * (np.abs(x) @ np.abs(w).T)
        return {"c_ptr": Expected(value, bound + 2.0**-24 * np.abs(value))}
    bound = np.zeros_like(value)
    prefix = np.zeros_like(value)
    for start in range(0, k, STEP):
        part_x, part_w = x[:, start : start + STEP], w[:, start : start + STEP]
        # The largest product of a step is at most the product of the largest factors.
        largest = np.abs(part_x).max(axis=1)[:, None] * np.abs(part_w).max(axis=1)[None, :]
        before = np.abs(prefix) + bound
        prefix = prefix + part_x @ part_w.T
        largest = np.maximum(np.maximum(largest, before), np.abs(prefix) + bound)
        bound = bound + (STEP + 2) * 2.0**-13 * largest
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="dot_wait_depths",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64, 64), 4, 3, 0, (97, 205, 368)),
        _spec("fp16", (128, 64, 64), 4, 3, 1, (136, 177, 368)),
        _spec("fp8e4nv", (64, 128, 64), 4, 4, 2, (72, 300, 432)),
        _spec("fp8e5", (128, 64, 128), 8, 4, 3, (131, 150, 848)),
        _spec("i8", (64, 64, 128), 4, 3, 2, (97, 205, 720)),
    ],
    launch=launch,
    reference=reference,
)
