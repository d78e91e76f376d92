"""dtype_of, size_of and get_fp8_format_name steer the kernel while it is compiled.

A wrong answer changes the block size (so the grid no longer covers y) or the scale.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

LARGEST = {"fp8e4nv": 448.0, "fp8e5": 57344.0}
SIZES = {"fp16": 2, "bf16": 2, "fp32": 4}
# Half the relative and half the absolute (subnormal) spacing of the result's type.
ROUNDING = {
    "fp16": (2.0**-11, 2.0**-25),
    "bf16": (2.0**-8, 2.0**-134),
    "fp32": (2.0**-24, 2.0**-150),
}


def _block(spec: Spec) -> int:
    return int(spec.constexprs["BLOCK_BYTES"]) // SIZES[spec.signature["y_ptr"][1:]]


def _spec(
    packed: str, plain: str, warps: int, targets: tuple[str, ...], hints: bool = True
) -> Spec:
    return Spec(
        name=f"{packed}-{plain}-w{warps}" + ("" if hints else "-unaligned"),
        signature={"x_ptr": f"*{packed}", "y_ptr": f"*{plain}", "n": "i32"},
        constexprs={"BLOCK_BYTES": 2048, "STEPS": 3},
        divisible_by_16=("x_ptr", "y_ptr", "n") if hints else (),
        options={"num_warps": warps},
        targets=targets,
        problem={"n": 2048 * 4 + (16 if hints else 9)},
        speed={"n": 1 << 25},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    chunk = _block(spec) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-n // chunk), 1, 1),
        arguments={
            "x_ptr": Input((n,), spec.signature["x_ptr"][1:]),
            "y_ptr": Output((n,), spec.signature["y_ptr"][1:]),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The scale is rounded to float32, the product too, and then the result: three halves of an
    ulp."""
    value = inputs["x_ptr"] / LARGEST[spec.signature["x_ptr"][1:]]
    relative, absolute = ROUNDING[spec.signature["y_ptr"][1:]]
    return {
        "y_ptr": Expected(value, (2.002 * 2.0**-24 + 1.001 * relative) * np.abs(value) + absolute)
    }


KERNEL = Kernel(
    function="fp8_unpack",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    specs=[
        _spec("fp8e4nv", "fp32", 4, ("cuda:90", "cuda:100", "hip:gfx950")),
        _spec("fp8e5", "fp16", 8, ("cuda:80", "cuda:90", "hip:gfx942")),
        _spec("fp8e5", "bf16", 4, ("cuda:90",), hints=False),
    ],
    launch=launch,
    reference=reference,
)
