"""Plain tl.dot product, pipelined by the compiler: instruction choice, pipelining and layouts
without TLX."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(
    dtype: str,
    out: str,
    block: tuple[int, int, int],
    size: tuple[int, int, int],
    warps: int,
    stages: int,
) -> Spec:
    problem = dict(zip("MNK", size, strict=True))
    return Spec(
        name=f"{dtype}-{out}-{'x'.join(map(str, block))}-w{warps}-s{stages}",
        signature={
            "a_ptr": f"*{dtype}",
            "b_ptr": f"*{dtype}",
            "c_ptr": f"*{out}",
            **dict.fromkeys("MNK", "i32"),
        },
        constexprs=dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True)),
        divisible_by_16=(
            "a_ptr",
            "b_ptr",
            "c_ptr",
            *(name for name, extent in problem.items() if extent % 16 == 0),
        ),
        options={"num_warps": warps, "num_stages": stages},
        problem=problem,
        speed=dict.fromkeys("MNK", 4096),
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = problem["M"], problem["N"], problem["K"]
    dtype = spec.signature["a_ptr"].removeprefix("*")
    return Launch(
        grid=(
            -(-m // int(str(spec.constexprs["BLOCK_M"]))),
            -(-n // int(str(spec.constexprs["BLOCK_N"]))),
            1,
        ),
        arguments={
            "a_ptr": Input((m, k), dtype, specials=False),
            "b_ptr": Input((k, n), dtype, specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"].removeprefix("*")),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """K float32 additions in any order, each truncated rather than rounded by the tensor cores
    (2^-23); 16-bit products are exact. float32 operands lose all but 10 bits of the fraction as
    TF32, at worst by truncation: 2^-10 each. bfloat16 results are rounded by 2^-8."""
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value, magnitude = a @ b, np.abs(a) @ np.abs(b)
    additions = problem["K"] * 2.0**-23
    bound = magnitude * additions / (1 - additions)
    if spec.signature["a_ptr"] == "*fp32":
        bound = bound * 1.01 + magnitude * ((1 + 2.0**-10) ** 2 - 1)
    if spec.signature["c_ptr"] == "*bf16":
        bound = bound + (np.abs(value) + bound) * 2.0**-8
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="matmul",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", "fp32", (64, 64, 32), (160, 208, 272), 4, 3),
        _spec("bf16", "bf16", (128, 64, 64), (200, 144, 400), 8, 2),
        _spec("fp32", "fp32", (64, 64, 32), (100, 77, 201), 4, 4),
    ],
    launch=launch,
    reference=reference,
    baseline=True,
)
