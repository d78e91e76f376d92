"""Transposed shared-memory views as wgmma operands, in all orders; tf32 where both are K-major.

Sizes carry no divisibility hints. A transposed view must become the descriptor's major bit: if
a side copied, or dropped the transposition, the product would be of the wrong matrices.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(operand: str, by_k: bool, by_n: bool, tile: tuple[int, int, int], warps: int) -> Spec:
    return Spec(
        name=f"{operand}-{'km' if by_k else 'mk'}-{'nk' if by_n else 'kn'}",
        signature={"a_ptr": f"*{operand}", "b_ptr": f"*{operand}", "c_ptr": "*fp32"}
        | dict.fromkeys("MNK", "i32"),
        constexprs=dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile, strict=True))
        | {
            "A_BY_K": by_k,
            "B_BY_N": by_n,
            "PRECISION": "tf32" if operand == "fp32" else None,
        },
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr"),
        options={"num_warps": warps},
        problem={"M": 129, "N": 101, "K": 4 * tile[2] + 7},
        speed={"M": 2048, "N": 2048, "K": 2048},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    tiles = -(-m // int(spec.constexprs["BLOCK_M"])) * -(-n // int(spec.constexprs["BLOCK_N"]))
    operand = spec.signature["a_ptr"][1:]
    a_shape = (k, m) if spec.constexprs["A_BY_K"] else (m, k)
    b_shape = (n, k) if spec.constexprs["B_BY_N"] else (k, n)
    return Launch(
        grid=(tiles, 1, 1),
        arguments={
            "a_ptr": Input(a_shape, operand, specials=False),
            "b_ptr": Input(b_shape, operand, specials=False),
            "c_ptr": Output((m, n), "fp32"),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = A B.

    16-bit: products are exact, 2K truncations of at most 2**-23 |A||B|. tf32 keeps 10 fraction
    bits, and the unit may cut the rest off: each factor is off by less than 2**-10, their
    product by less than 2**-9 + 2**-20.
    """
    a = inputs["a_ptr"].T if spec.constexprs["A_BY_K"] else inputs["a_ptr"]
    b = inputs["b_ptr"].T if spec.constexprs["B_BY_N"] else inputs["b_ptr"]
    value = a @ b
    size = np.abs(a) @ np.abs(b)
    rounding = 2.0**-9 + 2.0**-20 if spec.signature["a_ptr"] == "*fp32" else 0.0
    bound = (rounding + 2 * a.shape[1] * 2.0**-23) * size + 2.0**-24 * np.abs(value)
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="operand_orders",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", False, False, (64, 64, 64), 4),
        _spec("fp16", False, True, (128, 64, 64), 8),
        _spec("bf16", True, False, (64, 128, 32), 4),
        _spec("fp16", True, True, (128, 128, 64), 4),
        _spec("fp32", False, True, (64, 64, 32), 4),
    ],
    launch=launch,
    reference=reference,
)
