"""warp_redux max, min, abs_max and abs_min, one element per lane, ragged last warp.

A reduction over fewer lanes, or the absolute value left out, gives another element of the group.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(operation: str, warps: int, hints: bool = True) -> Spec:
    return Spec(
        name=f"{operation}-w{warps}" + ("" if hints else "-unaligned"),
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        constexprs={"WIDTH": 32 * warps, "STEPS": 4, "OPERATION": operation},
        divisible_by_16=("x_ptr", "y_ptr") if hints else (),
        options={"num_warps": warps},
        problem={"n": 32 * warps * 6 + 43},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    chunk = int(spec.constexprs["WIDTH"]) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-n // chunk), 1, 1),
        arguments={
            # redux drops NaN, numpy keeps it.
            "x_ptr": Input((n,), "fp32", specials=False),
            "y_ptr": Output((n,), "fp32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """An extreme is one of the inputs: exact."""
    x = inputs["x_ptr"]
    operation = str(spec.constexprs["OPERATION"])
    # The last group may be short: fill it up with its last element.
    padded = np.concatenate([x, np.full(-x.size % 32, x[-1])]).reshape(-1, 32)
    if operation.startswith("abs_"):
        padded = np.abs(padded)
    groups = padded.max(axis=1) if operation.endswith("max") else padded.min(axis=1)
    return {"y_ptr": Expected(np.repeat(groups, 32)[: x.size], 0.0)}


KERNEL = Kernel(
    function="warp_extremes",
    targets=("cuda:100",),
    specs=[_spec("max", 4), _spec("abs_max", 8), _spec("min", 2, hints=False), _spec("abs_min", 4)],
    launch=launch,
    reference=reference,
)
