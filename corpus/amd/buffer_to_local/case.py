"""buffer_load_to_local: direct-to-LDS loads in a ring, more steps than buffers.

A wait that is one group short reads LDS before the load has landed there.
"""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PROGRAMS = 6


def _spec(
    dtype: str, block: int, buffers: int, warps: int, targets: tuple[str, ...] | None = None
) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-b{buffers}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": block, "STEPS": buffers + 3, "NUM_BUFFERS": buffers},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        targets=targets,
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
    """A permutation: exact."""
    x = inputs["x_ptr"]
    halves = x.reshape(*x.shape[:2], 2, -1)
    return {"y_ptr": Expected(halves[:, :, ::-1].reshape(x.shape), 0.0)}


KERNEL = Kernel(
    function="buffer_to_local",
    targets=("hip:gfx942", "hip:gfx950"),
    primary=("hip:gfx950",),
    specs=[
        _spec("fp32", 256, 2, 4),
        _spec("fp16", 2048, 3, 4, targets=("hip:gfx950",)),
        _spec("i32", 512, 4, 2, targets=("hip:gfx950",)),
    ],
    launch=launch,
    reference=reference,
)
