"""wgmma with A in registers: int8 weights from shared memory, widened, times 16-bit activations.

Shows whether the register fragment keeps the layout that wgmma wants and whether the wait after
the dot keeps its depth: too shallow a wait would let the next weights overwrite the fragment.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 0.0)}


def _spec(
    name: str,
    dtypes: tuple[str, str],
    tile: tuple[int, int, int],
    warps: int,
    buffers: int,
    pending: int,
    sizes: tuple[int, int, int],
) -> Spec:
    operand, output = dtypes
    block_m, block_n, block_k = tile
    return Spec(
        name=name,
        signature={
            "w_ptr": "*i8",
            "x_ptr": f"*{operand}",
            "scale_ptr": "*fp32",
            "c_ptr": f"*{output}",
            "M": "i32",
            "N": "i32",
            "K": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "PENDING": pending,
        },
        divisible_by_16=("w_ptr", "x_ptr", "scale_ptr", "c_ptr", "N", "K"),
        options={"num_warps": warps},
        problem=dict(zip("MNK", sizes, strict=True)),
        speed={"M": 4096, "N": 4096, "K": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = (problem[x] for x in "MNK")
    tiles = -(-m // int(spec.constexprs["BLOCK_M"])) * -(-n // int(spec.constexprs["BLOCK_N"]))
    return Launch(
        grid=(tiles, 1, 1),
        arguments={
            "w_ptr": Input((m, k), "i8"),
            "x_ptr": Input((k, n), spec.signature["x_ptr"][1:], specials=False),
            "scale_ptr": Input((m,), "fp32", specials=False),
            "c_ptr": Output((m, n), spec.signature["c_ptr"][1:]),
            "M": Scalar(m),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C = scale (W X).

    8-bit integers are exact in fp16 and bf16, their products exact in float32; the K products
    and the K sums each lose at most 2**-23 of sum(|w||x|). Then one rounding for the scale and
    one for the output type.
    """
    w, x, scale = inputs["w_ptr"], inputs["x_ptr"], inputs["scale_ptr"][:, None]
    value = scale * (w @ x)
    unit, tiny = ROUNDING[spec.signature["c_ptr"][1:]]
    summing = 2 * w.shape[1] * 2.0**-23 * np.abs(scale) * (np.abs(w) @ np.abs(x))
    unit += 2.0**-24
    return {"c_ptr": Expected(value, summing + unit * (np.abs(value) + summing) + tiny)}


KERNEL = Kernel(
    function="register_operand",
    targets=("cuda:90",),
    specs=[
        _spec("fp16-64x128x64-w4-b3-p0", ("fp16", "fp32"), (64, 128, 64), 4, 3, 0, (97, 144, 336)),
        _spec(
            "bf16-128x128x64-w4-b3-p1", ("bf16", "bf16"), (128, 128, 64), 4, 3, 1, (136, 176, 368)
        ),
        _spec(
            "fp16-128x64x128-w8-b2-p1", ("fp16", "fp32"), (128, 64, 128), 8, 2, 1, (200, 80, 560)
        ),
    ],
    launch=launch,
    reference=reference,
)
