"""Split-K: warp-specialised parts of K, combined by TMA reduce-add in global memory.

If the reducing store became a plain one, the last program's part would be all that is left.
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
    operand: str,
    tile: tuple[int, int, int],
    buffers: int,
    warps: int,
    sizes: tuple[int, int, int],
    splits: int,
) -> Spec:
    block_m, block_n, block_k = tile
    return Spec(
        name=f"{operand}-{block_m}x{block_n}x{block_k}-b{buffers}-w{warps}",
        signature={
            "a_desc": f"tensordesc<{operand}[{block_m},{block_k}]>",
            "b_desc": f"tensordesc<{operand}[{block_k},{block_n}]>",
            "c_desc": f"tensordesc<fp32[{block_m},{block_n}]>",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        options={"num_warps": warps},
        problem=dict(zip("MNK", sizes, strict=True)) | {"splits": splits},
        speed={"M": 512, "N": 512, "K": 32768, "splits": 8},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    block_m, block_n, block_k = (int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    operand = spec.signature["a_desc"].removeprefix("tensordesc<").split("[")[0]
    return Launch(
        grid=(-(-m // block_m) * -(-n // block_n), problem["splits"], 1),
        arguments={
            "a_desc": Descriptor(Input((m, k), operand, specials=False), (block_m, block_k)),
            "b_desc": Descriptor(Input((k, n), operand, specials=False), (block_k, block_n)),
            "c_desc": Descriptor(Output((m, n), "fp32", initial="zero"), (block_m, block_n)),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = A B.

    Products of two 16-bit floats are exact in float32; the tensor core truncates each product
    and each sum by at most 2**-23 of the largest addend, hence 2K 2**-23 |A||B| in any order and
    split. The parts are then added in float32, in any order: splits 2**-24 |A||B| more.
    """
    a, b = inputs["a_desc"], inputs["b_desc"]
    size = np.abs(a) @ np.abs(b)
    return {
        "c_desc": Expected(a @ b, (2 * a.shape[1] * 2.0**-23 + problem["splits"] * 2.0**-23) * size)
    }


KERNEL = Kernel(
    function="split_k_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64, 64), 3, 4, (97, 104, 1048), 3),
        _spec("bf16", (128, 64, 64), 4, 8, (200, 72, 1480), 4),
    ],
    launch=launch,
    reference=reference,
)
