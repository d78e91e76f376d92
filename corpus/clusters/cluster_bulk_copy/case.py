"""async_remote_shmem_copy, counted by the receiver's mbarrier after fence_mbarrier_init_cluster.

A copy that signals its own CTA's barrier would end the wait before the tile is there.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

CLUSTERS = 3


def _spec(dtype: str, block: int, cluster: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-c{cluster}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": block, "STEPS": 5, "CLUSTER": cluster},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps, "ctas_per_cga": (cluster, 1, 1)},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    cluster, steps, block = (int(spec.constexprs[n]) for n in ("CLUSTER", "STEPS", "BLOCK"))
    shape = (CLUSTERS, cluster, steps, block)
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(CLUSTERS * cluster, 1, 1),
        arguments={"x_ptr": Input(shape, dtype), "y_ptr": Output(shape, dtype)},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Doubling is exact."""
    return {"y_ptr": Expected(2.0 * np.roll(inputs["x_ptr"], -1, axis=1), 0.0)}


KERNEL = Kernel(
    function="cluster_bulk_copy",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32", 512, 2, 4), _spec("bf16", 2048, 4, 8)],
    launch=launch,
    reference=reference,
)
