"""TMA-fed warp-specialised GEMM with one or two cooperative consumers.

The full/empty barrier protocol, the split of A between the consumers and the dot left in flight
must all survive compilation; a lost wait or arrive is a hang or a torn tile.
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
    consumers: int,
    sizes: tuple[int, int, int],
    stages: int | None,
    registers: int | None = None,
    hints: bool = True,
) -> Spec:
    block_m, block_n, block_k = tile
    rows = block_m // consumers
    return Spec(
        name=f"{operand}-{output}-{block_m}x{block_n}x{block_k}-b{buffers}-c{consumers}",
        signature={
            "a_desc": f"tensordesc<{operand}[{rows},{block_k}]>",
            "b_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "c_desc": f"tensordesc<{output}[{rows},{block_n}]>",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "CONSUMERS": consumers,
            "REGISTERS": registers,
            "LOOP_STAGES": stages,
        },
        divisible_by_16=("N", "K") if hints else (),
        options={"num_warps": 4},
        problem=dict(zip("MNK", sizes, strict=True)),
        speed={"M": 4096, "N": 4096, "K": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    block_m, block_n, block_k, parts = (
        int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "CONSUMERS")
    )
    operand, output = (
        spec.signature[x].removeprefix("tensordesc<").split("[")[0] for x in ("a_desc", "c_desc")
    )
    rows = block_m // parts
    return Launch(
        grid=(-(-m // block_m) * -(-n // block_n), 1, 1),
        arguments={
            "a_desc": Descriptor(Input((m, k), operand, specials=False), (rows, block_k)),
            "b_desc": Descriptor(Input((k, n), operand, specials=False), (block_k, block_n)),
            "c_desc": Descriptor(Output((m, n), output), (rows, block_n)),
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
    function="ws_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", "fp16", (128, 128, 64), 4, 2, (200, 208, 464), 0, 232),
        _spec("bf16", "bf16", (128, 256, 64), 3, 2, (136, 272, 352), 1, 232),
        _spec("fp16", "fp32", (64, 128, 64), 4, 1, (97, 144, 424), 0, hints=False),
        _spec("bf16", "fp32", (256, 128, 32), 3, 2, (300, 144, 176), None),
    ],
    launch=launch,
    reference=reference,
)
