"""TMA descriptors of rank 1, 3 and 4, with ragged ends and a non-zero inner coordinate.

Coordinates go to the hardware in reverse order, and a 1-D tile has no swizzle: a side that got
either wrong would copy other elements, or scramble a tile on one of the two ways.
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


def _spec(dtype: str, block: tuple[int, ...], shape: tuple[int, ...], buffers: int) -> Spec:
    text = ",".join(str(x) for x in block)
    return Spec(
        name=f"{dtype}-rank{len(block)}",
        signature={
            "x_desc": f"tensordesc<{dtype}[{text}]>",
            "y_desc": f"tensordesc<{dtype}[{text}]>",
            "tiles": "i32",
            "tile_step": "i32",
        },
        constexprs={
            "RANK": len(block),
            **{f"D{i}": block[i] if i < len(block) else 1 for i in range(4)},
            "NUM_BUFFERS": buffers,
        },
        options={"num_warps": 4 if len(block) > 1 else 2},
        problem={f"d{i}": size for i, size in enumerate(shape)},
    )


def _shape(problem: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(problem[f"d{i}"] for i in range(len(problem)))


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = _shape(problem)
    dtype, rest = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")
    block = tuple(int(x) for x in rest.split("]")[0].split(","))
    last = -(-shape[-1] // block[-1])
    programs = 3 if len(shape) == 1 else -(-shape[0] // block[0])
    return Launch(
        grid=(programs, 1, 1),
        arguments={
            "x_desc": Descriptor(Input(shape, dtype), block),
            "y_desc": Descriptor(Output(shape, dtype, initial="zero"), block),
            "tiles": Scalar(-(-last // programs) if len(shape) == 1 else last),
            "tile_step": Scalar(block[-1]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """A copy, bit for bit; rank 4 copies one slice, the second of dimension 1, and only that."""
    value = inputs["x_desc"]
    if spec.constexprs["RANK"] == 4:
        value = np.where(np.arange(value.shape[1])[:, None, None] == 1, value, 0.0)
    return {"y_desc": Expected(value, 0.0)}


KERNEL = Kernel(
    function="rank_copies",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", (256,), (256 * 16 + 132,), 2),
        _spec("fp16", (2, 16, 64), (5, 16, 64 * 4 + 24), 2),
        _spec("bf16", (1, 1, 32, 32), (3, 3, 32, 32 * 5 + 8), 3),
    ],
    launch=launch,
    reference=reference,
)
