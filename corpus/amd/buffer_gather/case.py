"""Buffer loads whose offsets were themselves loaded, in two dimensions.

Offsets that were cast, broadcast or masked wrongly would fetch another row.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

TABLE_ROWS = 29


def _spec(dtype: str, block_r: int, block_c: int, warps: int, hints: bool = True) -> Spec:
    pointers = ("table_ptr", "index_ptr", "out_ptr")
    return Spec(
        name=f"{dtype}-{block_r}x{block_c}-w{warps}" + ("" if hints else "-unaligned"),
        signature={
            "table_ptr": f"*{dtype}",
            "index_ptr": "*i32",
            "out_ptr": f"*{dtype}",
            "count": "i32",
            "width": "i32",
        },
        constexprs={"BLOCK_R": block_r, "BLOCK_C": block_c},
        divisible_by_16=(*pointers, "width") if hints else (),
        options={"num_warps": warps},
        problem={"count": 4 * block_r + 3, "width": 4 * block_c + (16 if hints else 3)},
        speed={"count": 1 << 14, "width": 1024},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    count, width = problem["count"], problem["width"]
    dtype = spec.signature["out_ptr"][1:]
    return Launch(
        grid=(-(-count // int(spec.constexprs["BLOCK_R"])), 1, 1),
        arguments={
            "table_ptr": Input((TABLE_ROWS, width), dtype),
            "index_ptr": Input((count,), "i32", fill="index", modulo=TABLE_ROWS),
            "out_ptr": Output((count, width), dtype),
            "count": Scalar(count),
            "width": Scalar(width),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A copy: exact."""
    return {"out_ptr": Expected(inputs["table_ptr"][inputs["index_ptr"].astype(np.int64)], 0.0)}


KERNEL = Kernel(
    function="buffer_gather",
    targets=("hip:gfx942", "hip:gfx950"),
    primary=("hip:gfx950",),
    specs=[_spec("fp16", 16, 128, 4), _spec("i32", 8, 64, 2), _spec("i8", 16, 64, 4, hints=False)],
    launch=launch,
    reference=reference,
)
