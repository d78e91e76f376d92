"""async_task_replica_id decides which blocks a replica of an async task handles.

Replicas that all saw the same id would leave every other block of y unwritten.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 6


def _spec(dtype: str, block: int, replicas: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-r{replicas}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "REPLICAS": replicas},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": (2 * replicas + 2) * block + 19},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input((ROWS, n), dtype),
            "y_ptr": Output((ROWS, 2, n), dtype),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Doubling and negating are exact."""
    x = inputs["x_ptr"]
    block, n = int(spec.constexprs["BLOCK"]), problem["n"]
    last = (-(-n // block) - 1) * block
    value = np.zeros((ROWS, 2, n))
    value[:, 0] = 2.0 * x
    value[:, 1, last:] = -x[:, last:]
    return {"y_ptr": Expected(value, 0.0)}


KERNEL = Kernel(
    function="replica_copy",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32", 512, 2, 4), _spec("bf16", 1024, 3, 4)],
    launch=launch,
    reference=reference,
)
