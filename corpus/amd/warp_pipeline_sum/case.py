"""warp_pipeline_stage around plain loads, which every CDNA generation has.

A stage that is lost changes no result, only who waits for whom: the check beside this file
looks for the barrier between the stages.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 3


def _spec(dtype: str, rows: int, block: int, hints: bool = True) -> Spec:
    return Spec(
        name=f"{dtype}-{rows}x{block}-w8" + ("" if hints else "-unaligned"),
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "n": "i32"},
        constexprs={"ROWS": rows, "BLOCK": block},
        divisible_by_16=("x_ptr", "y_ptr", "n") if hints else ("x_ptr", "y_ptr"),
        options={"num_warps": 8},
        problem={"n": 6 * block + (48 if hints else 33)},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows = PROGRAMS * int(spec.constexprs["ROWS"])
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((rows, problem["n"]), spec.signature["x_ptr"][1:], specials=False),
            "y_ptr": Output((rows,), "fp32"),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Each of the n additions, in any order, rounds by at most 2**-24 of the magnitudes summed:
    gamma_n."""
    x = inputs["x_ptr"]
    n_u = problem["n"] * 2.0**-24
    return {"y_ptr": Expected(x.sum(axis=1), n_u / (1 - n_u) * np.abs(x).sum(axis=1))}


KERNEL = Kernel(
    function="warp_pipeline_sum",
    targets=("hip:gfx942", "hip:gfx950"),
    specs=[_spec("fp16", 64, 128)],
    launch=launch,
    reference=reference,
)
