"""Flash attention forward, warp-specialised: TMA producer, two consumers with a Q tile each.

Both consumers must release every K and V slot, and O's rank-3 descriptor must cut off the rows
beyond a head's end, or the next head's output is overwritten.
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

# Unit roundoff of the 16-bit type, and half its smallest subnormal.
ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0)}


def _spec(
    dtype: str,
    d: int,
    tile: tuple[int, int],
    buffers: int,
    causal: bool,
    registers: int | None,
    n: int,
) -> Spec:
    rows, block_n = tile
    return Spec(
        name=f"{dtype}-d{d}-{rows}x{block_n}-b{buffers}{'-causal' * causal}",
        signature={
            "q_desc": f"tensordesc<{dtype}[{rows},{d}]>",
            "k_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "v_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "o_desc": f"tensordesc<{dtype}[1,{rows},{d}]>",
            "lse_ptr": "*fp32",
            "N": "i32",
            "qk_scale": "fp32",
        },
        constexprs={
            "D": d,
            "ROWS": rows,
            "BLOCK_N": block_n,
            "NUM_BUFFERS": buffers,
            "CAUSAL": causal,
            "REGISTERS": registers,
        },
        divisible_by_16=("lse_ptr",),
        options={"num_warps": 4},
        problem={"heads": 2, "n": n},
        speed={"heads": 32, "n": 4096},
    )


def _dtype(spec: Spec) -> str:
    return spec.signature["q_desc"].removeprefix("tensordesc<").split("[")[0]


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    heads, n = problem["heads"], problem["n"]
    d, rows, block_n = (int(spec.constexprs[x]) for x in ("D", "ROWS", "BLOCK_N"))
    dtype = _dtype(spec)
    source = Input((heads * n, d), dtype, specials=False)
    return Launch(
        grid=(-(-n // (2 * rows)), heads, 1),
        arguments={
            "q_desc": Descriptor(source, (rows, d)),
            "k_desc": Descriptor(source, (block_n, d)),
            "v_desc": Descriptor(source, (block_n, d)),
            "o_desc": Descriptor(Output((heads, n, d), dtype), (1, rows, d)),
            "lse_ptr": Output((heads, n), "fp32"),
            "N": Scalar(n),
            "qk_scale": Scalar(float(np.float32(np.log2(np.e) / np.sqrt(d)))),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """O = softmax(Q K^T scale) V and the base-2 log-sum-exp of each row.

    ``e`` bounds the error of an exponent: the dot's 2D truncations of 2**-23 |q||k|, and a few
    roundings of t and of the running maximum. A weight is then off by a factor 2**e, by the
    roundings of exp2 and of the corrections, 2**-21 for each tile, and (in P V alone) by the
    rounding of P to 16 bits. The normaliser has the error of its worst weight, so its logarithm
    that of the worst exponent. Whatever the weights, the output stays in the hull of V, but for
    those roundings.
    """
    heads, n, d = problem["heads"], problem["n"], int(spec.constexprs["D"])
    q, k, v = (inputs[x].reshape(heads, n, d) for x in ("q_desc", "k_desc", "v_desc"))
    scale = float(np.float32(np.log2(np.e) / np.sqrt(d)))
    unit, tiny = ROUNDING[_dtype(spec)]
    tiles = -(-n // int(spec.constexprs["BLOCK_N"]))

    t = scale * (q @ k.swapaxes(1, 2))
    e = 2 * d * 2.0**-23 * scale * (np.abs(q) @ np.abs(k).swapaxes(1, 2))
    if spec.constexprs["CAUSAL"]:
        t = np.where(np.tri(n, dtype=bool), t, -np.inf)
    top = t.max(axis=2, keepdims=True)
    e = np.where(np.isfinite(t), e + 2.0**-22 * (np.abs(t) + np.abs(top)), 0.0)
    weight = np.exp2(t - top)
    total = weight.sum(axis=2, keepdims=True)
    weight /= total

    roundings = (tiles + n * 2.0**-3) * 2.0**-21
    relative = np.expm1(np.minimum(e * np.log(2), 50.0)) + roundings
    worst = relative.max(axis=2, keepdims=True)
    value = weight @ v
    bound = (weight * (relative + worst + unit + 2 * n * 2.0**-23)) @ np.abs(v)
    bound += tiny * np.abs(v).sum(axis=1, keepdims=True)
    bound = np.minimum(bound, (2 + 4 * unit) * np.abs(v).max(axis=1, keepdims=True))
    bound = bound + unit * (np.abs(value) + bound) + tiny

    lse = (top + np.log2(total))[..., 0]
    lse_bound = e.max(axis=2) + 2 * roundings
    lse_bound += 2.0**-21 * (np.abs(top[..., 0]) + np.abs(lse))
    return {
        "o_desc": Expected(value, bound),
        "lse_ptr": Expected(lse, lse_bound + 2.0**-20),
    }


KERNEL = Kernel(
    function="fa_fwd_ws",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", 64, (64, 64), 2, False, 232, 64 * 5 + 27),
        _spec("bf16", 128, (64, 128), 2, False, 240, 128 * 4 + 63),
        _spec("fp16", 64, (64, 128), 2, True, None, 128 * 4 + 1),
    ],
    launch=launch,
    reference=reference,
)
