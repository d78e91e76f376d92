"""Named barriers that order two warp groups: a wrong thread count hangs, a lost arrive or wait
lets both groups change the shared tile at once."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, steps: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32", "steps": "i32", "n": "i32"},
        constexprs={"BLOCK": block, "GROUP_WARPS": warps},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"steps": steps, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    steps, n = problem["steps"], problem["n"]
    return Launch(
        grid=(-(-n // int(str(spec.constexprs["BLOCK"]))), 1, 1),
        arguments={
            "x_ptr": Input((steps, n), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "y_ptr": Output((n,), "fp32"),
            "steps": Scalar(steps),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Each row adds one float32 rounding of a + x, then halves value and error exactly (but for
    half of the smallest subnormal)."""
    value = np.zeros(problem["n"])
    bound = np.zeros(problem["n"])
    for x in inputs["x_ptr"]:
        total = value + x
        rounding = (np.abs(total) + bound) * 2.0**-24
        value, bound = total / 2, (bound + rounding) / 2 + 2.0**-150
    return {"y_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="named_alternation",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 128, 7, 1000, 4),
        _spec("fp16", 512, 12, 2048, 4),
        _spec("bf16", 256, 9, 777, 8),
    ],
    launch=launch,
    reference=reference,
)
