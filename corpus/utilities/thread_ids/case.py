"""thread_id along x (one element per thread) and along y (always 0 in a Triton kernel).

A scalar that was hoisted as if it were the same in all threads would make all elements equal.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Kernel, Launch, Output, Spec

PROGRAMS = 5
NVIDIA = ("cuda:80", "cuda:90", "cuda:100")


def _spec(axis: int, warps: int, warp_size: int, targets: tuple[str, ...]) -> Spec:
    return Spec(
        name=f"{'xyz'[axis]}-w{warps}x{warp_size}",
        signature={"y_ptr": "*i32"},
        constexprs={"WIDTH": warps * warp_size, "AXIS": axis},
        divisible_by_16=("y_ptr",),
        options={"num_warps": warps},
        targets=targets,
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    width = int(spec.constexprs["WIDTH"])
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={"y_ptr": Output((PROGRAMS, width), "i32")},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """With as many elements as threads the coalesced layout gives thread i element i. Exact."""
    held_by = np.arange(spec.constexprs["WIDTH"], dtype=np.float64)
    if spec.constexprs["AXIS"] != 0:
        held_by[:] = 0.0
    programs = 1000.0 * np.arange(PROGRAMS, dtype=np.float64)
    return {"y_ptr": Expected(programs[:, None] + held_by[None, :], 0.0)}


KERNEL = Kernel(
    function="thread_ids",
    targets=(*NVIDIA, "hip:gfx942", "hip:gfx950"),
    specs=[
        _spec(0, 4, 32, ("cuda:80", "cuda:90", "cuda:100")),
        _spec(1, 2, 32, ("cuda:90",)),
        _spec(0, 4, 64, ("hip:gfx942", "hip:gfx950")),
    ],
    launch=launch,
    reference=reference,
)
