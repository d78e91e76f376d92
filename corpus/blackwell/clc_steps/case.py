"""The steps of cluster launch control: _alloc_clc_responses, _clc_issue and _clc_query.

A tile taken twice is harmless here, one lost is not written; a phase off by one never ends.
"""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": 150 * block + 77},
        speed={"n": 1 << 25},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(-(-n // int(spec.constexprs["BLOCK"])), 1, 1),
        arguments={
            "x_ptr": Input((n,), dtype),
            "y_ptr": Output((n,), dtype),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A power of two: exact."""
    return {"y_ptr": Expected(2.0 * inputs["x_ptr"], 0.0)}


KERNEL = Kernel(
    function="clc_steps",
    targets=("cuda:100",),
    specs=[_spec("fp32", 1024, 4)],
    launch=launch,
    reference=reference,
)
