"""cluster_cta_rank without a cluster, also on an architecture that has none.

A rank that is the program's number, or what a register happens to hold, writes elsewhere.
"""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 7


def _spec(dtype: str, block: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": block, "STEPS": 3},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = (PROGRAMS, int(spec.constexprs["STEPS"]), int(spec.constexprs["BLOCK"]))
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={"x_ptr": Input(shape, dtype), "y_ptr": Output(shape, dtype)},
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A copy: exact."""
    return {"y_ptr": Expected(inputs["x_ptr"], 0.0)}


KERNEL = Kernel(
    function="lone_cta",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    specs=[_spec("fp16", 512, 4)],
    launch=launch,
    reference=reference,
)
