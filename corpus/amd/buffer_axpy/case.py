"""Masked AMD buffer loads and stores in a loop.

A mask or a bound that got lost would read past the end (zeros on AMD, so silently) or write there.
A kernel that asks for buffer operations gets them also where no hint says that the tensors are
small enough: that is its own promise.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ALPHA = 0.75


def _spec(
    dtype: str, block: int, steps: int, warps: int, hints: bool = True, large: bool = False
) -> Spec:
    pointers = ("x_ptr", "y_ptr", "z_ptr")
    suffix = ("" if hints else "-unaligned") + ("-over2gb" if large else "")
    return Spec(
        name=f"{dtype}-{block}x{steps}-w{warps}{suffix}",
        signature=dict.fromkeys(pointers, f"*{dtype}") | {"alpha": "fp32", "n": "i32"},
        constexprs={"BLOCK": block, "STEPS": steps},
        divisible_by_16=(*pointers, "n") if hints else (),
        over_2gb=pointers if large else (),
        options={"num_warps": warps},
        problem={"n": 3 * block * steps - block + (16 if hints else 5)},
        speed={"n": 1 << 24},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    chunk = int(spec.constexprs["BLOCK"]) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-n // chunk), 1, 1),
        arguments={
            "x_ptr": Input((n,), dtype),
            "y_ptr": Input((n,), dtype),
            "z_ptr": Output((n,), dtype),
            "alpha": Scalar(ALPHA),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One or two float32 roundings (the multiply-add may be fused), then one to the result."""
    product = ALPHA * inputs["x_ptr"]
    value = product + inputs["y_ptr"]
    error = 2.0**-24 * (np.abs(product) + 1.001 * np.abs(value))
    half_ulp = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 0.0}[spec.signature["z_ptr"][1:]]
    tiny = {"fp16": 2.0**-25, "bf16": 2.0**-134, "fp32": 2.0**-149}[spec.signature["z_ptr"][1:]]
    return {"z_ptr": Expected(value, error + half_ulp * (np.abs(value) + error) + tiny)}


KERNEL = Kernel(
    function="buffer_axpy",
    targets=("hip:gfx942", "hip:gfx950"),
    primary=("hip:gfx950",),
    specs=[
        _spec("fp32", 1024, 4, 4),
        _spec("fp16", 2048, 3, 4),
        _spec("bf16", 512, 5, 2, hints=False),
        _spec("fp16", 1024, 3, 4, large=True),
    ],
    launch=launch,
    reference=reference,
)
