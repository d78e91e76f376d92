"""Multicast TMA in a cluster of two CTAs; buffers freed by remote arrivals or cluster barriers.

If the multicast mask were lost, or the remote arrival went to the own barrier, a CTA would wait
for ever for its peer's half of a tile, or overwrite one that the peer still reads.
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

CLUSTER = 2
STEP = 0.5  # CTA r multiplies by 1 + r STEP
ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 2.0**-150)}


def _spec(dtype: str, tile: tuple[int, int], remote: bool, m: int, k: int) -> Spec:
    descriptor = f"tensordesc<{dtype}[{tile[0] // CLUSTER},{tile[1]}]>"
    return Spec(
        name=f"{dtype}-{tile[0]}x{tile[1]}-{'remote' if remote else 'barrier'}",
        signature={"x_desc": descriptor, "y_desc": descriptor, "K": "i32", "scale_step": "fp32"},
        constexprs={
            "BLOCK_M": tile[0],
            "BLOCK_K": tile[1],
            "CLUSTER": CLUSTER,
            "REMOTE_ARRIVE": remote,
        },
        options={"num_warps": 4, "ctas_per_cga": (CLUSTER, 1, 1)},
        problem={"m": m, "k": k},
        speed={"m": 8192, "k": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, k = problem["m"], problem["k"]
    block_m, block_k = (int(spec.constexprs[x]) for x in ("BLOCK_M", "BLOCK_K"))
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    clusters = -(-m // block_m)
    block = (block_m // CLUSTER, block_k)
    return Launch(
        grid=(clusters * CLUSTER, 1, 1),
        arguments={
            "x_desc": Descriptor(Input((m, k), dtype, specials=False), block),
            "y_desc": Descriptor(Output((CLUSTER * clusters * block_m, k), dtype), block),
            "K": Scalar(k),
            "scale_step": Scalar(STEP),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Slice r is (1 + r STEP) x, zero in the rows that pad x to whole blocks.

    The factor is exact; the product rounds once to float32 and once to the element type.
    """
    x = inputs["x_desc"]
    padding = -x.shape[0] % int(spec.constexprs["BLOCK_M"])
    x = np.pad(x, ((0, padding), (0, 0)))
    value = np.concatenate([(1 + r * STEP) * x for r in range(CLUSTER)])
    dtype = spec.signature["x_desc"].removeprefix("tensordesc<").split("[")[0]
    unit, tiny = ROUNDING[dtype]
    return {"y_desc": Expected(value, np.abs(value) * (unit + 2.0**-24) + tiny * (value != 0))}


KERNEL = Kernel(
    function="multicast_tile",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp16", (128, 64), True, 300, 64 * 4 + 24),
        _spec("fp32", (64, 32), False, 130, 32 * 5 + 4),
    ],
    launch=launch,
    reference=reference,
)
