"""stoch_round to each narrow type of Blackwell, with the random bits read from memory.

The result must be one of x's two neighbours; a conversion that dropped x's low half, permuted
the packed elements or skipped the saturation would be far outside.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

# Explicit fraction bits, smallest normal exponent, largest finite value.
FORMATS = {
    "fp16": (10, -14, 65504.0),
    "bf16": (7, -126, 2.0**127 * (2 - 2.0**-7)),
    "fp8e5": (2, -14, 57344.0),
    "fp8e4nv": (3, -6, 448.0),
}


def _spec(dtype: str, block: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}",
        signature={"x_ptr": "*fp32", "bits_ptr": "*i32", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "STEPS": 4},
        divisible_by_16=("x_ptr", "bits_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": 6 * block + 21},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    chunk = int(spec.constexprs["BLOCK"]) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-n // chunk), 1, 1),
        arguments={
            "x_ptr": Input((n,), "fp32", specials=False),
            "bits_ptr": Input((n,), "i32"),
            "y_ptr": Output((n,), spec.signature["y_ptr"][1:]),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """x, saturated to the largest finite value; either neighbour is right, so the error stays
    below the distance between them, whatever the bits (both neighbours of an exact x are x)."""
    fraction, smallest, largest = FORMATS[spec.signature["y_ptr"][1:]]
    value = np.clip(inputs["x_ptr"], -largest, largest)
    with np.errstate(divide="ignore"):
        exponent = np.maximum(np.floor(np.log2(np.abs(value))), smallest)
    spacing = 2.0 ** (exponent - fraction)
    exact = value == np.trunc(value / spacing) * spacing
    return {"y_ptr": Expected(value, np.where(exact, 0.0, spacing))}


KERNEL = Kernel(
    function="stochastic_cast",
    targets=("cuda:100",),
    specs=[
        _spec("bf16", 512, 4),
        _spec("fp16", 256, 4),
        _spec("fp8e4nv", 1024, 8),
        _spec("fp8e5", 512, 4),
    ],
    launch=launch,
    reference=reference,
)
