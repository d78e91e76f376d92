"""Hopper GEMM: cp.async ring, wgmma, one dot left in flight.

A wait that is one group too shallow, a dot wait too lax or a mask lost at the ragged end of K
would each put wrong tiles into the accumulator.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

# Unit roundoff of the output type, and half its smallest subnormal.
ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 0.0)}


def _spec(
    name: str,
    dtypes: tuple[str, str],
    tile: tuple[int, int, int],
    warps: int,
    buffers: int,
    sizes: tuple[int, int, int],
    stages: int = 3,
) -> Spec:
    operand, output = dtypes
    block_m, block_n, block_k = tile
    return Spec(
        name=name,
        signature={"a_ptr": f"*{operand}", "b_ptr": f"*{operand}", "c_ptr": f"*{output}"}
        | dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32"),
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        # Without the hints on N and K the masks split the copies below cp.async's four bytes.
        divisible_by_16=(
            "a_ptr",
            "b_ptr",
            "c_ptr",
            "N",
            "K",
            "stride_am",
            "stride_bk",
            "stride_cm",
        ),
        options={"num_warps": warps, "num_stages": stages},
        problem=dict(zip("MNK", sizes, strict=True)),
        speed={"M": 4096, "N": 4096, "K": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    tiles = -(-m // int(spec.constexprs["BLOCK_M"])) * -(-n // int(spec.constexprs["BLOCK_N"]))
    return Launch(
        grid=(tiles, 1, 1),
        arguments={
            "a_ptr": Input((m, k), spec.signature["a_ptr"][1:], specials=False),
            "b_ptr": Input((k, n), spec.signature["b_ptr"][1:], specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"][1:]),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
            "stride_am": Scalar(k),
            "stride_bk": Scalar(n),
            "stride_cm": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = A B.

    Products of two 16-bit floats are exact in float32. The tensor core aligns the products of
    one instruction and the accumulator to the largest of them and truncates, so each of the K
    products and each addition may lose 2**-23 of sum(|a||b|): 2K such losses in any order, plus
    the rounding to the output type.
    """
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = a @ b
    unit, tiny = ROUNDING[spec.signature["c_ptr"][1:]]
    summing = 2 * a.shape[1] * 2.0**-23 * (np.abs(a) @ np.abs(b))
    return {"c_ptr": Expected(value, summing + unit * (np.abs(value) + summing) + tiny)}


KERNEL = Kernel(
    function="pipelined_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16-128x128x64-w4-b3", ("fp16", "fp16"), (128, 128, 64), 4, 3, (200, 208, 368)),
        _spec("bf16-128x256x64-w8-b4", ("bf16", "bf16"), (128, 256, 64), 8, 4, (136, 272, 432)),
        _spec("fp16-64x64x32-w4-b2", ("fp16", "fp32"), (64, 64, 32), 4, 2, (97, 112, 144)),
        _spec("bf16-64x128x64-w4-b5", ("bf16", "fp32"), (64, 128, 64), 4, 5, (72, 144, 464), 1),
    ],
    launch=launch,
    reference=reference,
)
