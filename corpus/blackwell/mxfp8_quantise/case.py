"""_to_mxfp8_block, called as the fork has it and as the plugin has it.

A scale rounded down instead of up saturates the largest element of its group.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 3
LARGEST = {"fp8e4nv": 448.0, "fp8e5": 57344.0}
# Explicit fraction bits and the exponent of the least normal number.
FORMATS = {"fp8e4nv": (3, -6), "fp8e5": (2, -14)}


def _spec(dtype: str, returned: bool) -> Spec:
    return Spec(
        name=f"{dtype}-" + ("returned" if returned else "stored"),
        signature={"x_ptr": "*fp32", "q_ptr": f"*{dtype}", "scale_ptr": "*u8"},
        constexprs={"RETURNED": returned, "E4M3": dtype == "fp8e4nv"},
        divisible_by_16=("x_ptr", "q_ptr", "scale_ptr"),
        options={"num_warps": 4},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((PROGRAMS, 128, 128), "fp32", specials=False),
            "q_ptr": Output((PROGRAMS, 128, 128), spec.signature["q_ptr"][1:]),
            "scale_ptr": Output((PROGRAMS, 128, 4), "u8"),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The scale is the least power of two that keeps its group in range: exact, but that
    max / LARGEST is rounded to float32 first, so one off is allowed within 2**-22 of a power
    of two. Scaling is exact; rounding to fp8 costs half a spacing (either scale's).
    """
    dtype = spec.signature["q_ptr"][1:]
    fraction, smallest = FORMATS[dtype]
    x = inputs["x_ptr"].reshape(PROGRAMS, 128, 4, 32)
    needed = np.maximum(np.abs(x).max(axis=3) / LARGEST[dtype], 2.0**-127)
    exponent = np.ceil(np.log2(needed))
    near = np.abs(needed * 2.0**-exponent - 1.0) < 2.0**-22
    near |= np.abs(needed * 2.0**-exponent - 0.5) < 2.0**-22
    scaled = x * 2.0 ** -exponent[..., None]
    _, power = np.frexp(scaled)
    spacing = 2.0 ** (np.maximum(power - 1, smallest) - fraction)
    bound = np.where(near[..., None], np.abs(scaled) + spacing, 0.5 * spacing)
    return {
        "q_ptr": Expected(scaled.reshape(PROGRAMS, 128, 128), bound.reshape(PROGRAMS, 128, 128)),
        "scale_ptr": Expected(exponent + 127.0, near.astype(np.float64)),
    }


KERNEL = Kernel(
    function="mxfp8_quantise",
    targets=("cuda:100",),
    specs=[_spec("fp8e4nv", returned=True), _spec("fp8e5", returned=False)],
    launch=launch,
    reference=reference,
)
