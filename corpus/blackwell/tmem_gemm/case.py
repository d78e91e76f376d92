"""cp.async tiles, tcgen05 MMA into a tensor-memory accumulator, one mbarrier per buffer.

If a wait were lost, a tile would be overwritten under a running MMA; if use_acc were lost,
only the last K step, or whatever the accumulator held before, would remain in the result.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(
    types: str, blocks: tuple[int, int, int], buffers: int, warps: int, stages: int, k: int
) -> Spec:
    operand, result = types.split("-")
    block_m, block_n, block_k = blocks
    return Spec(
        name=f"{types}-{block_m}x{block_n}x{block_k}-b{buffers}-w{warps}-s{stages}",
        signature={
            "a_ptr": f"*{operand}",
            "b_ptr": f"*{operand}",
            "c_ptr": f"*{result}",
            "m": "i32",
            "n": "i32",
            "k": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr", "n", "k"),
        options={"num_warps": warps, "num_stages": stages},
        problem={"m": block_m + 37, "n": block_n + 16, "k": k},
        speed={"m": 4096, "n": 4096, "k": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = problem["m"], problem["n"], problem["k"]
    operand = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(
            -(-m // int(spec.constexprs["BLOCK_M"])),
            -(-n // int(spec.constexprs["BLOCK_N"])),
            1,
        ),
        arguments={
            "a_ptr": Input((m, k), operand, specials=False),
            "b_ptr": Input((k, n), operand, specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"][1:]),
            "m": Scalar(m),
            "n": Scalar(n),
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
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = a @ b
    k_u = problem["k"] * 2.0**-22
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b))
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0.0}[spec.signature["c_ptr"][1:]]
    # 2**-25: half the spacing of subnormal float16.
    return {"c_ptr": Expected(value, bound + half_ulp * (np.abs(value) + bound) + 2.0**-25)}


KERNEL = Kernel(
    function="tmem_gemm",
    targets=("cuda:100",),
    specs=[
        _spec("fp16-fp16", (128, 128, 64), 3, 4, 3, k=5 * 64 + 16),
        _spec("bf16-fp32", (128, 256, 64), 2, 8, 1, k=4 * 64 + 48),
        _spec("fp16-fp32", (64, 64, 32), 4, 4, 1, k=6 * 32),
        _spec("fp8e5-bf16", (128, 64, 128), 3, 4, 2, k=5 * 128 + 32),
    ],
    launch=launch,
    reference=reference,
)
