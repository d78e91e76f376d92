"""local_alloc(layout=...): a side that drops the padding or swizzling which the kernel chose still
computes the same, with other bank conflicts and other code."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

EVERYWHERE = ("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950")
HOPPER = ("cuda:90",)


def _spec(
    dtype: str,
    layout: str,
    block: tuple[int, int],
    rows: int,
    columns: int,
    targets: tuple[str, ...],
) -> Spec:
    sizes = {"rows": rows, "columns": columns}
    return Spec(
        name=f"{dtype}-{layout}-{block[0]}x{block[1]}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "rows": "i32", "columns": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1], "LAYOUT": layout},
        divisible_by_16=(
            "x_ptr",
            "y_ptr",
            *(name for name, size in sizes.items() if size % 16 == 0),
        ),
        options={"num_warps": 4},
        targets=targets,
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
    function="pinned_layouts",
    targets=EVERYWHERE,
    specs=[
        _spec("fp16", "padded", (64, 64), 160, 208, EVERYWHERE),
        _spec("fp16", "swizzled", (64, 64), 160, 208, HOPPER),
        _spec("fp32", "plain", (32, 64), 101, 203, HOPPER),
        _spec("fp16", "cute", (64, 64), 160, 208, EVERYWHERE),
        _spec("fp16", "wgmma", (64, 64), 160, 208, ("cuda:90", "hip:gfx942", "hip:gfx950")),
    ],
    launch=launch,
    reference=reference,
)
