"""local_trans of a buffer: a layout not permuted with the view returns the tile untransposed or
scrambled, and other swizzles show as other conflict-free access widths."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

FP8_TARGETS = ("cuda:90", "cuda:100", "hip:gfx950")


def _spec(dtype: str, block: tuple[int, int], rows: int, columns: int, warps: int) -> Spec:
    sizes = {"rows": rows, "columns": columns}
    return Spec(
        name=f"{dtype}-{block[0]}x{block[1]}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "rows": "i32", "columns": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1]},
        divisible_by_16=(
            "x_ptr",
            "y_ptr",
            *(name for name, size in sizes.items() if size % 16 == 0),
        ),
        options={"num_warps": warps},
        targets=FP8_TARGETS if dtype.startswith("fp8") else None,
        problem=sizes,
        speed={"rows": 4096, "columns": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    dtype = spec.signature["x_ptr"].removeprefix("*")
    rows, columns = problem["rows"], problem["columns"]
    return Launch(
        grid=(
            -(-rows // int(str(spec.constexprs["BLOCK_M"]))),
            -(-columns // int(str(spec.constexprs["BLOCK_N"]))),
            1,
        ),
        arguments={
            "x_ptr": Input((rows, columns), dtype),
            "y_ptr": Output((columns, rows), dtype),
            "rows": Scalar(rows),
            "columns": Scalar(columns),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A transpose moves bits: no error at all."""
    return {"y_ptr": Expected(inputs["x_ptr"].T, 0.0)}


KERNEL = Kernel(
    function="transposed_view",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", (64, 64), 160, 208, 4),
        _spec("fp32", (32, 64), 101, 203, 4),
        _spec("bf16", (128, 32), 272, 77, 8),
        _spec("i8", (64, 128), 144, 400, 4),
        _spec("fp8e5", (64, 64), 130, 192, 4),
    ],
    launch=launch,
    reference=reference,
)
