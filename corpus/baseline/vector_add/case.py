"""Plain elementwise kernel: tells base drift in loads, stores and masks from TLX's own doing."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, n: int, warps: int, hinted: bool) -> Spec:
    pointers = ("x_ptr", "y_ptr", "z_ptr")
    return Spec(
        name=f"{dtype}-{block}-w{warps}{'' if hinted else '-unaligned'}",
        signature={
            "x_ptr": f"*{dtype}",
            "y_ptr": f"*{dtype}",
            "z_ptr": "*fp32",
            "n": "i32",
        },
        constexprs={"BLOCK": block},
        divisible_by_16=pointers if hinted else (),
        options={"num_warps": warps},
        problem={"n": n},
        speed={"n": 1 << 25},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    dtype = spec.signature["x_ptr"].removeprefix("*")
    return Launch(
        grid=(-(-n // int(str(spec.constexprs["BLOCK"]))), 1, 1),
        arguments={
            "x_ptr": Input((n,), dtype),
            "y_ptr": Input((n,), dtype),
            "z_ptr": Output((n,), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """One rounding to float32: half an ulp. A sum in float32 cannot underflow."""
    value = inputs["x_ptr"] + inputs["y_ptr"]
    return {"z_ptr": Expected(value, np.abs(value) * 2.0**-24)}


KERNEL = Kernel(
    function="vector_add",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 1024, 10_007, 4, hinted=True),
        _spec("fp16", 2048, 20_000, 8, hinted=True),
        _spec("bf16", 512, 5_555, 2, hinted=False),
    ],
    launch=launch,
    reference=reference,
    baseline=True,
)
