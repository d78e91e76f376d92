"""Reuse of one async-copy buffer over many steps: needs a barrier after the wait and another one
before the next copy; with either missing, tiles mix."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

CUDA = ("cuda:80", "cuda:90", "cuda:100")
HIP = ("hip:gfx942", "hip:gfx950")


def _spec(
    dtype: str,
    block: tuple[int, int],
    rows: int,
    n: int,
    warps: int,
    targets: tuple[str, ...] = CUDA + HIP,
) -> Spec:
    return Spec(
        name=f"{dtype}-{block[0]}x{block[1]}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "rows": "i32", "n": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1]},
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        targets=targets,
        problem={"rows": rows, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    dtype = spec.signature["x_ptr"].removeprefix("*")
    return Launch(
        grid=(-(-n // int(str(spec.constexprs["BLOCK_N"]))), 1, 1),
        arguments={
            "x_ptr": Input((rows, n), dtype),
            "y_ptr": Output((n, rows), dtype),
            "rows": Scalar(rows),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A transpose moves bits: no error at all."""
    return {"y_ptr": Expected(inputs["x_ptr"].T, 0.0)}


KERNEL = Kernel(
    function="single_buffer",
    targets=CUDA + HIP,
    primary=("cuda:90",),
    specs=[
        _spec("fp32", (32, 64), 32 * 7 + 5, 303, 4),
        # A masked copy moves whole vectors: rows of a multiple of 16 elements for 16-bit types.
        _spec("fp16", (64, 64), 64 * 5 + 11, 304, 4, targets=CUDA),
        # gfx942 copies no more than 4 bytes per thread; aligned rows give wider copies.
        _spec("i32", (64, 32), 64 * 6, 160, 8, targets=(*CUDA, "hip:gfx950")),
    ],
    launch=launch,
    reference=reference,
)
