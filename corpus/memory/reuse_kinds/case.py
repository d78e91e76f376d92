"""reuse_group_ir_type: what a kind of sharing is to the compiler, asked for while compiling.

It makes no code of its own; a copy by way of shared memory stands around it.
"""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 3


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
    function="reuse_kinds",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    specs=[_spec("fp16", 256, 4)],
    launch=launch,
    reference=reference,
)
