"""local_slice of a swizzled tile: an offset that ignores the parent's layout reads elements of
another quadrant, and the sums come out wrong."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, out: str, block: tuple[int, int], rows: int, columns: int) -> Spec:
    sizes = {"rows": rows, "columns": columns}
    return Spec(
        name=f"{dtype}-{out}-{block[0]}x{block[1]}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{out}", "rows": "i32", "columns": "i32"},
        constexprs={"BLOCK_M": block[0], "BLOCK_N": block[1]},
        divisible_by_16=(
            "x_ptr",
            "y_ptr",
            *(name for name, size in sizes.items() if size % 16 == 0),
        ),
        options={"num_warps": 4},
        problem=sizes,
    )


def _tiles(spec: Spec, problem: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Rows and columns of a tile, and how many tiles cover x in each dimension."""
    m, n = (int(str(spec.constexprs[name])) for name in ("BLOCK_M", "BLOCK_N"))
    return m, n, -(-problem["rows"] // m), -(-problem["columns"] // n)


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, down, across = _tiles(spec, problem)
    dtype = spec.signature["x_ptr"].removeprefix("*")
    shape = (problem["rows"], problem["columns"])
    source = (
        Input(shape, dtype, fill="index", modulo=97)  # far from overflow
        if dtype.startswith("i")
        else Input(shape, dtype, specials=False)
    )
    return Launch(
        grid=(down, across, 1),
        arguments={
            "x_ptr": source,
            "y_ptr": Output(
                (down * m // 2, across * n // 2), spec.signature["y_ptr"].removeprefix("*")
            ),
            "rows": Scalar(problem["rows"]),
            "columns": Scalar(problem["columns"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Integers are exact; float32 rounds three additions (that to zero is exact)."""
    m, n, down, across = _tiles(spec, problem)
    x = inputs["x_ptr"]
    x = np.pad(x, [(0, down * m - x.shape[0]), (0, across * n - x.shape[1])])
    quadrants = x.reshape(down, 2, m // 2, across, 2, n // 2)

    def fold(values: FloatArray) -> FloatArray:
        return values.sum(axis=(1, 4)).reshape(down * m // 2, across * n // 2)

    if spec.signature["y_ptr"] == "*i32":
        return {"y_ptr": Expected(fold(quadrants), 0.0)}
    return {"y_ptr": Expected(fold(quadrants), fold(np.abs(quadrants)) * 3.01 * 2.0**-24)}


KERNEL = Kernel(
    function="quadrant_sum",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", "fp32", (64, 128), 200, 304),
        _spec("i32", "i32", (32, 64), 77, 129),
        _spec("fp32", "fp32", (64, 64), 160, 192),
    ],
    launch=launch,
    reference=reference,
)
