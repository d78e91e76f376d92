"""local_load with a register layout pinned by shape and stride, and assert_same_layout on it.

A layout that was read differently (rows for columns, warps for lanes) computes the maximum of
the wrong elements or needs exchanges that are not there.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

NVIDIA = ("cuda:80", "cuda:90", "cuda:100")
AMD = ("hip:gfx942", "hip:gfx950")


def _spec(dtype: str, block: int, targets: tuple[str, ...], hints: bool = True) -> Spec:
    return Spec(
        name=f"{dtype}-{block}" + ("" if hints else "-unaligned"),
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "rows": "i32"},
        constexprs={"BLOCK_R": block, "STEPS": 4},
        divisible_by_16=("x_ptr", "y_ptr") if hints else (),
        options={"num_warps": 4},
        targets=targets,
        problem={"rows": 6 * block + 29},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows = problem["rows"]
    chunk = int(spec.constexprs["BLOCK_R"]) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-rows // chunk), 1, 1),
        arguments={
            "x_ptr": Input((rows, 32), spec.signature["x_ptr"][1:], specials=False),
            "y_ptr": Output((rows, 32), "fp32"),
            "rows": Scalar(rows),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The maximum is exact, the difference rounds once to float32."""
    x = inputs["x_ptr"]
    value = x - x.max(axis=1, keepdims=True)
    return {"y_ptr": Expected(value, 1.001 * 2.0**-24 * np.abs(value))}


KERNEL = Kernel(
    function="pinned_rows",
    targets=(*NVIDIA, *AMD),
    specs=[
        _spec("fp32", 128, NVIDIA),
        _spec("bf16", 128, ("cuda:90",), hints=False),
        _spec("fp16", 256, AMD),
    ],
    launch=launch,
    reference=reference,
)
