"""replicate= and async_task_replica_id: with a replica missing its rows stay unwritten, with a
wrong number rows are written twice and others never."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(block: int, replicas: int, rows: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"i32-{block}-r{replicas}-w{warps}",
        signature={"x_ptr": "*i32", "y_ptr": "*i32", "rows": "i32", "n": "i32"},
        constexprs={"BLOCK": block, "REPLICAS": replicas, "WARPS": warps},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"rows": rows, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    return Launch(
        grid=(-(-rows // (1 + int(str(spec.constexprs["REPLICAS"])))), 1, 1),
        arguments={
            "x_ptr": Input((rows, n), "i32", fill="index", modulo=10007),
            "y_ptr": Output((rows, n), "i32"),
            "rows": Scalar(rows),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integer sums are exact."""
    members = np.arange(problem["rows"]) % (1 + int(str(spec.constexprs["REPLICAS"])))
    return {"y_ptr": Expected(inputs["x_ptr"] + members[:, None], 0.0)}


KERNEL = Kernel(
    function="replicas",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec(128, 1, 15, 600, 4),
        _spec(256, 2, 31, 256 * 4 + 48, 4),
        _spec(128, 3, 30, 577, 4),
    ],
    launch=launch,
    reference=reference,
)
