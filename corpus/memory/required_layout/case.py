"""require_layout with an explicit register layout: it decides which elements a thread owns, and
is visible as a #linear layout in the IR; dropped, the scan needs shuffles."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(columns: int, rows: int) -> Spec:
    return Spec(
        name=f"fp32-128x{columns}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "rows": "i32"},
        constexprs={"ROWS": 128, "COLUMNS": columns},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
        problem={"rows": rows},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows = problem["rows"]
    shape = (rows, int(str(spec.constexprs["COLUMNS"])))
    return Launch(
        grid=(-(-rows // 128), 1, 1),
        arguments={
            "x_ptr": Input(shape, "fp32", specials=False),
            "y_ptr": Output(shape, "fp32"),
            "rows": Scalar(rows),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The sum of j numbers in any order: j - 1 float32 roundings of at most the magnitudes' sum."""
    x = inputs["x_ptr"]
    additions = np.arange(x.shape[1])
    bound = np.cumsum(np.abs(x), axis=1) * additions * 2.0**-24 * 1.01
    return {"y_ptr": Expected(np.cumsum(x, axis=1), bound)}


KERNEL = Kernel(
    function="required_layout",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec(16, 1000), _spec(32, 128 * 5)],
    launch=launch,
    reference=reference,
)
