"""cluster_cta_rank and cluster_size_1d in clusters of one and two dimensions.

A rank that is always 0, or a program id that counts clusters instead of CTAs, shows at once.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Kernel, Launch, Output, Spec

GRID = (8, 6)
BLOCK = 64


def _spec(cluster: tuple[int, int, int], warps: int, with_size: bool) -> Spec:
    return Spec(
        name="x".join(str(size) for size in cluster) + ("-size" if with_size else "-rank"),
        signature={"y_ptr": "*i32"},
        constexprs={"BLOCK": BLOCK, "WITH_SIZE": with_size},
        divisible_by_16=("y_ptr",),
        options={"num_warps": warps, "ctas_per_cga": cluster},
        problem={"cluster_x": cluster[0], "cluster_y": cluster[1]},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    return Launch(
        grid=(*GRID, 1),
        arguments={"y_ptr": Output((GRID[1], GRID[0], BLOCK), "i32")},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Ranks count x first. Exact."""
    x, y = problem["cluster_x"], problem["cluster_y"]
    place = np.array([[r % x + x * (c % y) for r in range(GRID[0])] for c in range(GRID[1])])
    size = 100.0 * x * y if spec.constexprs["WITH_SIZE"] else 0.0
    value = 1000.0 * place[:, :, None] + size + np.arange(BLOCK)
    return {"y_ptr": Expected(value, 0.0)}


KERNEL = Kernel(
    function="cluster_ids",
    targets=("cuda:90", "cuda:100"),
    specs=[
        _spec((4, 1, 1), 2, with_size=False),
        _spec((4, 1, 1), 4, with_size=True),
        _spec((2, 3, 1), 1, with_size=True),
    ],
    launch=launch,
    reference=reference,
)
