"""TMA stores that add, take the minimum or maximum, or xor, from several programs at once.

A reduction lowered to a plain store, or with the wrong kind or signedness, leaves one program's
tile where the combination of all should be.
"""

from collections.abc import Mapping

import numpy as np

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

PARTS = 3
ROUNDING = {"fp16": 2.0**-11, "fp32": 2.0**-24}


def _spec(dtype: str, kind: str, tile: tuple[int, int], buffers: int, m: int, n: int) -> Spec:
    descriptor = f"tensordesc<{dtype}[{tile[0]},{tile[1]}]>"
    return Spec(
        name=f"{dtype}-{kind}-{tile[0]}x{tile[1]}-b{buffers}",
        signature={"x_desc": descriptor, "y_desc": descriptor, "M": "i32", "N": "i32"},
        constexprs={
            "KIND": kind,
            "BLOCK_M": tile[0],
            "BLOCK_N": tile[1],
            "NUM_BUFFERS": buffers,
        },
        options={"num_warps": 4},
        problem={"m": m, "n": n},
        speed={"m": 4096, "n": 8192},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    block = (int(spec.constexprs["BLOCK_M"]), int(spec.constexprs["BLOCK_N"]))
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    return Launch(
        grid=(m // block[0], PARTS, 1),
        arguments={
            "x_desc": Descriptor(Input((PARTS * m, n), dtype, specials=False), block),
            "y_desc": Descriptor(Output((m, n), dtype, initial="zero"), block),
            "M": Scalar(m),
            "N": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Zero combined with every part of x.

    Minimum, maximum, xor and integer sums (modulo 2**32) are exact in any order. A floating sum
    of PARTS values rounds PARTS times, each time by at most u of (1 + u)**PARTS sum(|x|), and
    may flush a subnormal partial sum.
    """
    parts = inputs["x_desc"].reshape(PARTS, problem["m"], problem["n"])
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    kind = spec.constexprs["KIND"]
    if kind == "add" and dtype != "i32":
        size = np.abs(parts).sum(axis=0)
        tiny = 2.0**-24 if dtype == "fp16" else 2.0**-126
        bound = PARTS * ROUNDING[dtype] * size * (1 + 2.0**-8)
        return {"y_desc": Expected(parts.sum(axis=0), bound + np.where(size > 0, tiny, 0.0))}
    if kind == "add":
        value = (parts.sum(axis=0) + 2.0**31) % 2.0**32 - 2.0**31
    elif kind == "xor":
        value = np.bitwise_xor.reduce(parts.astype(np.int32), axis=0).astype(np.float64)
    elif kind == "min":
        value = np.minimum(parts.min(axis=0), 0.0)
    else:
        value = np.maximum(parts.max(axis=0), 0.0)
    return {"y_desc": Expected(value, 0.0)}


KERNEL = Kernel(
    function="reduce_store",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", "add", (64, 32), 3, 128, 32 * 6 + 20),
        _spec("i32", "add", (32, 32), 2, 96, 32 * 5 + 4),
        _spec("i32", "min", (64, 32), 2, 128, 32 * 4 + 12),
        _spec("i32", "xor", (32, 32), 3, 64, 32 * 5 + 28),
        _spec("fp16", "max", (64, 64), 2, 128, 64 * 4 + 40),
        _spec("fp16", "add", (64, 64), 2, 64, 64 * 4 + 8),
    ],
    launch=launch,
    reference=reference,
)
