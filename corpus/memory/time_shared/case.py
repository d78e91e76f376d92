"""storage_alias_spec, sized and unsized: both buffers must get the same memory, and each must be
read by all threads before the other overwrites it."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

PROGRAMS = 5


CUDA = ("cuda:80", "cuda:90", "cuda:100")
HIP = ("hip:gfx942", "hip:gfx950")


def _spec(
    x_type: str,
    w_type: str,
    block: tuple[int, int],
    size: int,
    rows: int,
    warps: int,
    targets: tuple[str, ...] = CUDA,
) -> Spec:
    return Spec(
        name=f"{x_type}-{w_type}-{block[0]}x{block[1]}-{size or 'unsized'}",
        signature={
            "x_ptr": f"*{x_type}",
            "w_ptr": f"*{w_type}",
            "y_ptr": f"*{x_type}",
            "z_ptr": f"*{w_type}",
            "rows": "i32",
        },
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1], "BYTES": size},
        divisible_by_16=("x_ptr", "w_ptr", "y_ptr", "z_ptr"),
        options={"num_warps": warps},
        targets=targets,
        problem={"rows": rows},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, columns = problem["rows"], int(str(spec.constexprs["BLOCK_N"]))
    x_type = spec.signature["x_ptr"].removeprefix("*")
    w_type = spec.signature["w_ptr"].removeprefix("*")
    return Launch(
        grid=(PROGRAMS, 1, 1),
        arguments={
            "x_ptr": Input((rows, columns), x_type),
            "w_ptr": Input((rows, columns), w_type),
            "y_ptr": Output((columns, rows), x_type),
            "z_ptr": Output((columns, rows), w_type),
            "rows": Scalar(rows),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Transposes move bits: no error at all."""
    return {
        "y_ptr": Expected(inputs["x_ptr"].T, 0.0),
        "z_ptr": Expected(inputs["w_ptr"].T, 0.0),
    }


KERNEL = Kernel(
    function="time_shared",
    targets=CUDA + HIP,
    primary=("cuda:90",),
    specs=[
        _spec("i32", "fp32", (32, 32), 0, 32 * PROGRAMS * 4 + 5, 2, targets=CUDA + HIP),
        _spec("bf16", "fp16", (64, 64), 8192, 64 * PROGRAMS * 4, 4),
        # The region is larger than one of its users.
        _spec("fp32", "fp16", (64, 64), 0, 64 * PROGRAMS * 3 + 9, 4),
    ],
    launch=launch,
    reference=reference,
)
