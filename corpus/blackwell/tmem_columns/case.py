"""subslice and local_slice of a tensor-memory accumulator, loaded one after the other.

A slice offset counted in bytes, or taken from the wrong dimension, repeats or shifts columns.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 3


def _spec(types: str, block_n: int, block_k: int, part: int, name: str, warps: int) -> Spec:
    operand, result = types.split("-")
    return Spec(
        name=f"{types}-{block_n}x{block_k}-{name}{part}-w{warps}",
        signature={"a_ptr": f"*{operand}", "b_ptr": f"*{operand}", "c_ptr": f"*{result}"},
        constexprs={
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "STEPS": 5,
            "SLICE": part,
            "NAME": name,
        },
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr"),
        options={"num_warps": warps, "num_stages": 1},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = int(spec.constexprs["BLOCK_N"])
    k = int(spec.constexprs["STEPS"]) * int(spec.constexprs["BLOCK_K"])
    operand = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "a_ptr": Input((PROGRAMS * 128, k), operand, specials=False),
            "b_ptr": Input((k, n), operand, specials=False),
            "c_ptr": Output((PROGRAMS * 128, n), spec.signature["c_ptr"][1:]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Exact products, k additions that lose at most 2**-22 of the magnitudes summed each
    (gamma_k), one float32 rounding of the scaling, one rounding of the result."""
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    factor = 1.0 + np.arange(b.shape[1]) // int(spec.constexprs["SLICE"])
    value = (a @ b) * factor
    k_u = a.shape[1] * 2.0**-22
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b)) * factor
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0.0}[spec.signature["c_ptr"][1:]]
    bound += (2.0**-24 + half_ulp) * (np.abs(value) + bound) + 2.0**-25
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="tmem_columns",
    targets=("cuda:100",),
    specs=[
        _spec("fp16-fp32", 128, 64, 32, "subslice", 4),
        _spec("bf16-bf16", 256, 32, 64, "local_slice", 4),
        _spec("fp16-fp16", 256, 64, 128, "subslice", 8),
    ],
    launch=launch,
    reference=reference,
)
