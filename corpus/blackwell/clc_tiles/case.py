"""clc_create_context, clc_producer and clc_consumer: dynamic tiles, one or two consumers.

A tile taken twice is harmless here, one lost is not written; a phase off by one never ends.
"""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, two_tasks: bool, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}" + ("-two_tasks" if two_tasks else ""),
        signature={
            "x_ptr": f"*{dtype}",
            "y_ptr": f"*{dtype}",
            "z_ptr": f"*{dtype}",
            "n": "i32",
        },
        constexprs={"BLOCK": block, "TWO_TASKS": two_tasks},
        divisible_by_16=("x_ptr", "y_ptr", "z_ptr"),
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
            "z_ptr": Output((n,), dtype),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Powers of two: exact."""
    x = inputs["x_ptr"]
    return {"y_ptr": Expected(2.0 * x, 0.0), "z_ptr": Expected(-4.0 * x, 0.0)}


KERNEL = Kernel(
    function="clc_tiles",
    targets=("cuda:100",),
    specs=[
        _spec("fp32", 1024, two_tasks=False, warps=4),
        _spec("bf16", 2048, two_tasks=True, warps=4),
    ],
    launch=launch,
    reference=reference,
)
