"""Ping-pong consumers ordered by named barriers, with a fused ReLU epilogue.

Numbers of tiles that are odd, even and one for a program: a named barrier with the wrong id or
thread count, or an unmatched arrival, hangs or lets a consumer read its peer's stages.
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
    turn: int,
    registers: int | None,
    sizes: tuple[int, int, int],
    programs: int,
) -> Spec:
    block_m, block_n, block_k = tile
    return Spec(
        name=f"{operand}-{output}-{block_m}x{block_n}x{block_k}-b{buffers}",
        signature={
            "a_desc": f"tensordesc<{operand}[{block_m},{block_k}]>",
            "b_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "c_desc": f"tensordesc<{output}[{block_m},{block_n}]>",
            "M": "i32",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "TURN": turn,
            "REGISTERS": registers,
        },
        options={"num_warps": 4},
        problem=dict(zip("MNK", sizes, strict=True)) | {"programs": programs},
        speed={"M": 4096, "N": 4096, "K": 4096, "programs": 132},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    block_m, block_n, block_k = (int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    operand, output = (
        spec.signature[x].removeprefix("tensordesc<").split("[")[0] for x in ("a_desc", "c_desc")
    )
    tiles = -(-m // block_m) * -(-n // block_n)
    return Launch(
        grid=(min(problem["programs"], tiles), 1, 1),
        arguments={
            "a_desc": Descriptor(Input((m, k), operand, specials=False), (block_m, block_k)),
            "b_desc": Descriptor(Input((k, n), operand, specials=False), (block_k, block_n)),
            "c_desc": Descriptor(Output((m, n), output), (block_m, block_n)),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = max(A B, 0).

    Products of two 16-bit floats are exact in float32; the tensor core truncates each product
    and each sum by at most 2**-23 of the largest addend, hence 2K 2**-23 |A||B| in any order.
    The maximum does not enlarge an error; the result is rounded once to the output type.
    """
    a, b = inputs["a_desc"], inputs["b_desc"]
    value = np.maximum(a @ b, 0.0)
    output = spec.signature["c_desc"].removeprefix("tensordesc<").split("[")[0]
    unit, tiny = ROUNDING[output]
    summing = 2 * a.shape[1] * 2.0**-23 * (np.abs(a) @ np.abs(b))
    return {"c_desc": Expected(value, summing + unit * (value + summing) + tiny)}


KERNEL = Kernel(
    function="pingpong_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", "fp16", (64, 128, 64), 4, 9, 232, (330, 272, 392), 4),
        _spec("bf16", "fp32", (64, 64, 64), 5, 12, None, (330, 200, 424), 7),
        _spec("fp16", "bf16", (64, 256, 32), 4, 9, 240, (200, 528, 184), 9),
    ],
    launch=launch,
    reference=reference,
)
