"""alloc_barriers where no operation can arrive at a barrier or wait for one (see
negative/unsupported).

An initial value that is written elsewhere than into the barriers spoils the tile.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 3


def _spec(dtype: str, block: int, barriers: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-b{barriers}-w4",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "BARRIERS": barriers},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
        problem={"n": 7 * block},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    dtype, n = spec.signature["x_ptr"][1:], problem["n"]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={"x_ptr": Input((n,), dtype), "y_ptr": Output((n,), dtype), "n": Scalar(n)},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A permutation moves bits: exact."""
    tiles = inputs["x_ptr"].reshape(-1, int(spec.constexprs["BLOCK"]))
    return {"y_ptr": Expected(np.flip(tiles, axis=1).reshape(-1), 0.0)}


KERNEL = Kernel(
    function="idle_barriers",
    targets=("hip:gfx942", "hip:gfx950"),
    specs=[_spec("fp32", 256, 3)],
    launch=launch,
    reference=reference,
)
