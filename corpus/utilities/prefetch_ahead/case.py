"""prefetch of plain pointers, masked, into either cache.

Lost, the result is the same and only slower: the check beside this file looks for it. A mask
that is ignored touches addresses beyond the tensor.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS, ROWS = 8, 37


def _spec(dtype: str, block: int, level: str, targets: tuple[str, ...]) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-{level}",
        signature={
            "x_ptr": f"*{dtype}",
            "index_ptr": "*i32",
            "y_ptr": f"*{dtype}",
            "n": "i32",
        },
        constexprs={"BLOCK": block, "AHEAD": 2, "LEVEL": level},
        divisible_by_16=("x_ptr", "index_ptr", "y_ptr"),
        options={"num_warps": 4},
        targets=targets,
        problem={"n": 8 * PROGRAMS + 5},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    dtype, block = spec.signature["x_ptr"][1:], int(spec.constexprs["BLOCK"])
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((ROWS, block), dtype),
            "index_ptr": Input((problem["n"],), "i32", fill="index", modulo=ROWS),
            "y_ptr": Output((problem["n"], block), dtype),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A gather moves bits: exact."""
    return {"y_ptr": Expected(inputs["x_ptr"][inputs["index_ptr"].astype(np.int64)], 0.0)}


KERNEL = Kernel(
    function="prefetch_ahead",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    specs=[
        _spec("fp32", 512, "L2", ("cuda:80", "cuda:90", "cuda:100")),
        _spec("fp16", 1024, "L1", ("cuda:90",)),
    ],
    launch=launch,
    reference=reference,
)
