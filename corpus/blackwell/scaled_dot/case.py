"""async_dot_scaled with its scales in shared memory, or moved to tensor memory by tmem_copy.

A copy not finished before the product starts, or scales in another order, changes the result.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 2
EXPONENTS = 5  # 0 to 4


def _spec(dtype: str, block_n: int, copy_scales: bool) -> Spec:
    return Spec(
        name=f"{dtype}-n{block_n}-" + ("tmem" if copy_scales else "smem"),
        signature={
            "a_ptr": f"*{dtype}",
            "a_exponents_ptr": "*i8",
            "b_ptr": f"*{dtype}",
            "b_exponents_ptr": "*i8",
            "c_ptr": "*fp32",
        },
        constexprs={"BLOCK_N": block_n, "STEPS": 3, "COPY_SCALES": copy_scales},
        divisible_by_16=("a_ptr", "a_exponents_ptr", "b_ptr", "b_exponents_ptr", "c_ptr"),
        options={"num_warps": 4, "num_stages": 1},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    steps, n = int(spec.constexprs["STEPS"]), int(spec.constexprs["BLOCK_N"])
    dtype = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "a_ptr": Input((PROGRAMS, steps, 128, 128), dtype, specials=False),
            "a_exponents_ptr": Input((PROGRAMS, steps, 512), "i8", fill="index", modulo=EXPONENTS),
            "b_ptr": Input((steps, 128, n), dtype, specials=False),
            "b_exponents_ptr": Input((steps, n // 128, 512), "i8", fill="index", modulo=EXPONENTS),
            "c_ptr": Output((PROGRAMS, 128, n), "fp32"),
        },
    )


def _unpack(packed: FloatArray) -> FloatArray:
    """Packed exponents [..., 512] to factors 2**e for 128 rows and 128 elements of k."""
    groups = packed.reshape(*packed.shape[:-1], 32, 4, 4)
    rows = np.swapaxes(groups, -3, -2).reshape(*packed.shape[:-1], 128, 4)
    return np.repeat(2.0**rows, 32, axis=-1)


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Scaled products are exact in float32 (powers of two); each of the k additions, in any
    order, loses at most 2**-22 of the magnitudes summed: gamma_k."""
    steps, n = int(spec.constexprs["STEPS"]), int(spec.constexprs["BLOCK_N"])
    a = inputs["a_ptr"] * _unpack(inputs["a_exponents_ptr"])
    b_factors = _unpack(inputs["b_exponents_ptr"]).reshape(steps, n, 128)
    b = inputs["b_ptr"] * np.swapaxes(b_factors, 1, 2)
    value = np.einsum("psmk,skn->pmn", a, b)
    k_u = steps * 128 * 2.0**-22
    bound = k_u / (1 - k_u) * np.einsum("psmk,skn->pmn", np.abs(a), np.abs(b))
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="scaled_dot",
    targets=("cuda:100",),
    specs=[
        _spec("fp8e4nv", 128, copy_scales=True),
        _spec("fp8e5", 256, copy_scales=False),
    ],
    launch=launch,
    reference=reference,
)
