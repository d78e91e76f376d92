"""Persistent GEMM: tiles share one ring, so barrier phases must carry over from tile to tile.

A phase that restarted with each tile, or an epilogue that overwrote a staging buffer still being
stored, would spoil every tile but a program's first.
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
    epilogues: int,
    warps: int,
    sizes: tuple[int, int, int],
    programs: int,
    hints: bool,
) -> Spec:
    block_m, block_n, block_k = tile
    return Spec(
        name=f"{operand}-{output}-{block_m}x{block_n}x{block_k}-b{buffers}-e{epilogues}",
        signature={
            "a_desc": f"tensordesc<{operand}[{block_m},{block_k}]>",
            "b_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "c_desc": f"tensordesc<{output}[{block_m},{block_n // epilogues}]>",
            "M": "i32",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "EPILOGUES": epilogues,
        },
        divisible_by_16=("N", "K") if hints else (),
        options={"num_warps": warps},
        problem=dict(zip("MNK", sizes, strict=True)) | {"programs": programs},
        speed={"M": 4096, "N": 4096, "K": 4096, "programs": 132},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    block_m, block_n, block_k, epilogues = (
        int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "EPILOGUES")
    )
    operand, output = (
        spec.signature[x].removeprefix("tensordesc<").split("[")[0] for x in ("a_desc", "c_desc")
    )
    tiles = -(-m // block_m) * -(-n // block_n)
    part = (block_m, block_n // epilogues)
    return Launch(
        grid=(min(problem["programs"], tiles), 1, 1),
        arguments={
            "a_desc": Descriptor(Input((m, k), operand, specials=False), (block_m, block_k)),
            "b_desc": Descriptor(Input((k, n), operand, specials=False), (block_k, block_n)),
            "c_desc": Descriptor(Output((m, n), output), part),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = A B.

    Products of two 16-bit floats are exact in float32; the tensor core truncates each product
    and each sum by at most 2**-23 of the largest addend, hence 2K 2**-23 |A||B| in any order,
    and the result is rounded once to the output type.
    """
    a, b = inputs["a_desc"], inputs["b_desc"]
    value = a @ b
    output = spec.signature["c_desc"].removeprefix("tensordesc<").split("[")[0]
    unit, tiny = ROUNDING[output]
    summing = 2 * a.shape[1] * 2.0**-23 * (np.abs(a) @ np.abs(b))
    return {"c_desc": Expected(value, summing + unit * (np.abs(value) + summing) + tiny)}


KERNEL = Kernel(
    function="persistent_ws_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", "fp16", (128, 128, 64), 4, 1, 8, (360, 336, 400), 3, True),
        _spec("bf16", "bf16", (128, 256, 64), 3, 2, 8, (360, 528, 352), 2, True),
        _spec("fp16", "fp32", (64, 64, 64), 5, 2, 4, (330, 208, 456), 4, False),
    ],
    launch=launch,
    reference=reference,
)
