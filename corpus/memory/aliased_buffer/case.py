"""local_alloc(reuse=buffer): aliased buffers need barriers between them that only an alias
analysis which knows of the overlap inserts; without the overlap the kernel needs more memory."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 6


def _spec(dtype: str, block: tuple[int, int], rows: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block[0]}x{block[1]}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "rows": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1]},
        divisible_by_16=("x_ptr", "y_ptr", "rows") if rows % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"rows": rows},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, columns = problem["rows"], int(str(spec.constexprs["BLOCK_N"]))
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((rows, columns), spec.signature["x_ptr"].removeprefix("*")),
            "y_ptr": Output((columns, 2 * rows), "fp32"),
            "rows": Scalar(rows),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A 16-bit number and its double are exact in float32."""
    flipped = inputs["x_ptr"].T
    return {"y_ptr": Expected(np.concatenate([2 * flipped, flipped], axis=1), 0.0)}


KERNEL = Kernel(
    function="aliased_buffer",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64), 64 * PROGRAMS * 4 + 40, 4),
        _spec("bf16", (128, 32), 128 * PROGRAMS + 77, 8),
    ],
    launch=launch,
    reference=reference,
)
