"""TMA load and store with host descriptors: 2-D tiles through a ring, several store-wait depths.

A wrong barrier phase, byte count or store wait would store a tile too early or refill a buffer
that a store still reads; the output would hold a neighbour's tile.
"""

from collections.abc import Mapping

from harness.case import (
    Descriptor,
    Expected,
    FloatArray,
    Input,
    Kernel,
    Launch,
    Output,
    Scalar,
    Spec,
)


def _spec(dtype: str, tile: tuple[int, int], buffers: int, pending: int, m: int, n: int) -> Spec:
    block_m, block_n = tile
    descriptor = f"tensordesc<{dtype}[{block_m},{block_n}]>"
    return Spec(
        name=f"{dtype}-{block_m}x{block_n}-b{buffers}-p{pending}",
        signature={"x_desc": descriptor, "y_desc": descriptor, "N": "i32"},
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "NUM_BUFFERS": buffers,
            "PENDING": pending,
        },
        options={"num_warps": 4 if block_m > 32 else 1},
        problem={"m": m, "n": n},
        speed={"m": 8192, "n": 8192},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    block = (int(spec.constexprs["BLOCK_M"]), int(spec.constexprs["BLOCK_N"]))
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    return Launch(
        grid=(-(-m // block[0]), 1, 1),
        arguments={
            "x_desc": Descriptor(Input((m, n), dtype), block),
            "y_desc": Descriptor(Output((m, n), dtype), block),
            "N": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A copy, bit for bit: nothing is computed."""
    return {"y_desc": Expected(inputs["x_desc"], 0.0)}


KERNEL = Kernel(
    function="store_ring",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    # Rows are multiples of 16 bytes, as TMA requires, but not of the tile.
    specs=[
        _spec("fp16", (64, 64), 3, 1, 200, 64 * 6 + 40),
        _spec("fp32", (32, 32), 4, 0, 50, 32 * 7 + 4),
        _spec("bf16", (128, 32), 4, 2, 260, 32 * 8 + 8),
        _spec("i8", (64, 128), 2, 1, 130, 128 * 4 + 48),
    ],
    launch=launch,
    reference=reference,
)
