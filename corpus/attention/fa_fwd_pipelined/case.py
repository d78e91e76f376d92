"""Flash attention forward, hand-pipelined: two dots in flight, P as a register operand.

Checks that the wait for the scores is not turned into a wait for P V as well (or dropped), that
masks hold at ragged ends, and that ring phases stay right for 1 to many tiles.
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
    warps: int,
    stages: int | None,
    n: int,
) -> Spec:
    block_m, block_n = tile
    return Spec(
        name=f"{dtype}-d{d}-{block_m}x{block_n}-b{buffers}{'-causal' * causal}",
        signature={
            "q_desc": f"tensordesc<{dtype}[{block_m},{d}]>",
            "k_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "v_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "o_ptr": f"*{dtype}",
            "lse_ptr": "*fp32",
            "N": "i32",
            "qk_scale": "fp32",
        },
        constexprs={
            "D": d,
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "NUM_BUFFERS": buffers,
            "CAUSAL": causal,
            "LOOP_STAGES": stages,
        },
        divisible_by_16=("o_ptr", "lse_ptr"),
        options={"num_warps": warps},
        problem={"heads": 2, "n": n},
        speed={"heads": 32, "n": 4096},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    heads, n = problem["heads"], problem["n"]
    d, block_m, block_n = (int(spec.constexprs[x]) for x in ("D", "BLOCK_M", "BLOCK_N"))
    dtype = spec.signature["o_ptr"][1:]
    source = Input((heads * n, d), dtype, specials=False)
    return Launch(
        grid=(-(-n // block_m), heads, 1),
        arguments={
            "q_desc": Descriptor(source, (block_m, d)),
            "k_desc": Descriptor(source, (block_n, d)),
            "v_desc": Descriptor(source, (block_n, d)),
            "o_ptr": Output((heads * n, d), dtype),
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
    unit, tiny = ROUNDING[spec.signature["o_ptr"][1:]]
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
        "o_ptr": Expected(value.reshape(heads * n, d), bound.reshape(heads * n, d)),
        "lse_ptr": Expected(lse, lse_bound + 2.0**-20),
    }


KERNEL = Kernel(
    function="fa_fwd_pipelined",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", 64, (64, 64), 2, False, 4, 0, 64 * 5 + 27),
        _spec("bf16", 128, (128, 64), 2, False, 8, 1, 64 * 4 + 63),
        _spec("fp16", 128, (64, 128), 2, True, 4, None, 128 * 4 + 1),
        _spec("fp16", 64, (128, 128), 3, True, 8, 0, 128 * 5 + 88),
    ],
    launch=launch,
    reference=reference,
)
