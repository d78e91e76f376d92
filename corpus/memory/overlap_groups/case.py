"""set_buffer_overlap with nested shared and distinct groups: if the two small tiles overlap, one
destroys the other; if they do not lie within the large one, the kernel needs more memory."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(block: tuple[int, int], rows: int, columns: int, warps: int) -> Spec:
    return Spec(
        name=f"fp16-{block[0]}x{block[1]}-w{warps}",
        signature={"x_ptr": "*fp16", "y_ptr": "*fp32", "rows": "i32", "columns": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1]},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"rows": rows, "columns": columns},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, columns = problem["rows"], problem["columns"]
    return Launch(
        grid=(-(-rows // int(str(spec.constexprs["BLOCK_M"]))), 1, 1),
        arguments={
            "x_ptr": Input((rows, columns), "fp16", specials=False),
            "y_ptr": Output((columns, rows), "fp32"),
            "rows": Scalar(rows),
            "columns": Scalar(columns),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """float16 magnitudes are exact; the sum is rounded to float32 once."""
    x = inputs["x_ptr"].T
    value = np.abs(x) + 2.0 * np.sign(x)
    return {"y_ptr": Expected(value, np.abs(value) * 2.0**-24)}


KERNEL = Kernel(
    function="overlap_groups",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec((64, 64), 200, 64 * 4 + 17, 4), _spec((32, 128), 99, 128 * 3, 2)],
    launch=launch,
    reference=reference,
)
