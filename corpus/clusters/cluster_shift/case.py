"""remote_shmem_store into the next CTA's shared memory, paced by cluster_barrier.

A store that stayed in its own CTA would return x unshifted; a lost barrier, stale tiles.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

CLUSTERS = 3


def _spec(dtype: str, block: int, cluster: int, warps: int, hints: bool = True) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-c{cluster}-w{warps}" + ("" if hints else "-unaligned"),
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "CLUSTER": cluster},
        divisible_by_16=("x_ptr", "y_ptr", "n") if hints else (),
        options={"num_warps": warps, "ctas_per_cga": (cluster, 1, 1)},
        problem={"n": 5 * block + (16 if hints else 33)},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = CLUSTERS * int(spec.constexprs["CLUSTER"]), problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(rows, 1, 1),
        arguments={
            "x_ptr": Input((rows, n), dtype),
            "y_ptr": Output((rows, n), dtype),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A permutation of rows within each cluster: exact."""
    x = inputs["x_ptr"].reshape(CLUSTERS, int(spec.constexprs["CLUSTER"]), problem["n"])
    return {"y_ptr": Expected(np.roll(x, 1, axis=1).reshape(-1, problem["n"]), 0.0)}


KERNEL = Kernel(
    function="cluster_shift",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 512, 2, 4),
        _spec("fp16", 1024, 4, 4),
        _spec("i32", 256, 8, 2, hints=False),
    ],
    launch=launch,
    reference=reference,
)
