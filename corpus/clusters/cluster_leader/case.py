"""barrier_arrive on another CTA's mbarrier, to the leader and back, in lockstep.

An arrival that stayed local would hang or let a CTA run ahead of the total it waits for.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

CLUSTERS = 4


def _spec(block: int, cluster: int, warps: int) -> Spec:
    return Spec(
        name=f"{block}-c{cluster}-w{warps}",
        signature={"x_ptr": "*i32", "parts_ptr": "*i32", "y_ptr": "*i32"},
        constexprs={"BLOCK": block, "STEPS": 5, "CLUSTER": cluster},
        divisible_by_16=("x_ptr",),
        options={"num_warps": warps, "ctas_per_cga": (cluster, 1, 1)},
    )


def _sizes(spec: Spec) -> tuple[int, int, int]:
    return tuple(int(spec.constexprs[name]) for name in ("CLUSTER", "STEPS", "BLOCK"))


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    cluster, steps, block = _sizes(spec)
    return Launch(
        grid=(CLUSTERS * cluster, 1, 1),
        arguments={
            "x_ptr": Input((CLUSTERS, cluster, steps, block), "i32", fill="index", modulo=4099),
            "parts_ptr": Output((CLUSTERS, steps, cluster + 1), "i32"),
            "y_ptr": Output((CLUSTERS, steps, cluster), "i32"),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integer sums far below 2**31: exact."""
    cluster, _, _ = _sizes(spec)
    parts = inputs["x_ptr"].sum(axis=3).transpose(0, 2, 1)
    total = parts.sum(axis=2, keepdims=True)
    return {
        "parts_ptr": Expected(np.concatenate([parts, total], axis=2), 0.0),
        "y_ptr": Expected(total + np.arange(cluster), 0.0),
    }


KERNEL = Kernel(
    function="cluster_leader",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec(256, 2, 4), _spec(512, 4, 4)],
    launch=launch,
    reference=reference,
)
