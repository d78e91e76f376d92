"""local_store and local_load round trip through a ring: a wrong slot, or a store seen too late,
shifts or mixes whole tiles of the copy."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 32
FP8_TARGETS = ("cuda:90", "cuda:100", "hip:gfx950")


def _spec(dtype: str, buffers: int, block: int, n: int, warps: int, stages: int = 3) -> Spec:
    return Spec(
        name=f"{dtype}-{buffers}x{block}-w{warps}-s{stages}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "NUM_BUFFERS": buffers},
        # Rows of a multiple of 16 elements may be copied in wide vectors.
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps, "num_stages": stages},
        targets=FP8_TARGETS if dtype.startswith("fp8") else None,
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    dtype = spec.signature["x_ptr"].removeprefix("*")
    shape = (ROWS, problem["n"])
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input(shape, dtype),
            "y_ptr": Output(shape, dtype),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A copy moves bits: no error at all."""
    return {"y_ptr": Expected(inputs["x_ptr"], 0.0)}


KERNEL = Kernel(
    function="staged_copy",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 2, 128, 128 * 5 + 37, 4),
        _spec("fp16", 3, 256, 256 * 5 + 16, 4, stages=1),
        _spec("i8", 4, 512, 512 * 6 + 511, 8),
        _spec("fp8e4nv", 2, 256, 256 * 4 + 99, 4),
        _spec("i32", 2, 64, 64 * 5 + 1, 2, stages=4),
    ],
    launch=launch,
    reference=reference,
)
