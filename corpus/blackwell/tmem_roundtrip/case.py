"""Tensor-memory allocate, store and load, with two buffers and a value carried between steps.

If a TMEM store, load or buffer index were lost, y would miss its own or the previous tile.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block_m: int, block_n: int, warps: int, hints: bool = True) -> Spec:
    return Spec(
        name=f"{dtype}-{block_m}x{block_n}-w{warps}" + ("" if hints else "-unaligned"),
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "m": "i32", "n": "i32"},
        constexprs={"BLOCK_M": block_m, "BLOCK_N": block_n},
        divisible_by_16=("x_ptr", "y_ptr", "n") if hints else (),
        options={"num_warps": warps},
        problem={"m": block_m + 40, "n": 4 * block_n + (16 if hints else 7)},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    return Launch(
        grid=(-(-m // int(spec.constexprs["BLOCK_M"])), 1, 1),
        arguments={
            "x_ptr": Input((m, n), spec.signature["x_ptr"][1:]),
            "y_ptr": Output((m, n), "fp32"),
            "m": Scalar(m),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Y = (x + x) + previous: doubling is exact, the last sum rounds once to float32."""
    x = inputs["x_ptr"]
    block = int(spec.constexprs["BLOCK_N"])
    previous = np.zeros_like(x)
    previous[:, block:] = x[:, :-block]
    value = 2.0 * x + previous
    return {"y_ptr": Expected(value, np.abs(value) * 2.0**-24)}


KERNEL = Kernel(
    function="tmem_roundtrip",
    targets=("cuda:100",),
    specs=[
        _spec("fp32", 128, 64, 4),
        _spec("bf16", 128, 128, 8),
        _spec("fp32", 64, 32, 4, hints=False),
    ],
    launch=launch,
    reference=reference,
)
