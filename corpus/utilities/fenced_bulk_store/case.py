"""Registers to shared memory, proxy fence, bulk asynchronous store; both spellings of the fence.

Without the fence the bulk store may read what was in the buffer before; without the wait it may
read what the step after next wrote.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 7


def _spec(dtype: str, block: int, warps: int, old_name: bool) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}-" + ("fence_async_shared" if old_name else "fence"),
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": block, "STEPS": 6, "OLD_NAME": old_name},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = (PROGRAMS, int(spec.constexprs["STEPS"]), int(spec.constexprs["BLOCK"]))
    dtype = spec.signature["x_ptr"][1:]
    specials = not dtype.startswith("i")
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={"x_ptr": Input(shape, dtype, specials=specials), "y_ptr": Output(shape, dtype)},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One rounding of the product (integers wrap, exactly); float16 products may be formed in
    float16, where subnormal results have a spacing of 2**-24."""
    x = inputs["x_ptr"]
    value = x * np.arange(1.0, x.shape[1] + 1)[:, None]
    dtype = spec.signature["x_ptr"][1:]
    if dtype == "i32":
        return {"y_ptr": Expected((value + 2.0**31) % 2.0**32 - 2.0**31, 0.0)}
    half_ulp, tiny = {"fp16": (2.0**-11, 2.0**-25), "fp32": (2.0**-24, 2.0**-150)}[dtype]
    return {"y_ptr": Expected(value, 1.001 * half_ulp * np.abs(value) + tiny)}


KERNEL = Kernel(
    function="fenced_bulk_store",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 512, 4, old_name=False),
        _spec("fp16", 1024, 8, old_name=False),
        _spec("i32", 256, 2, old_name=True),
    ],
    launch=launch,
    reference=reference,
)
