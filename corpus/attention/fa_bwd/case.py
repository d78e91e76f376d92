"""Flash attention backward: five dots a step, register and transposed operands, reducing stores.

Three waits of different depths order the dots; a fence orders dS's two readers; dQ is complete
only if every key block's reduction survives. A slip in any shows as a wrong gradient.
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

# Unit roundoff and half the smallest subnormal; largest value that surely stays finite.
ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0)}
LARGEST = {"fp16": 65000.0, "bf16": 2.0**127}


def _spec(
    dtype: str, d: int, tile: tuple[int, int], buffers: int, causal: bool, warps: int, n: int
) -> Spec:
    block_m, block_n = tile
    return Spec(
        name=f"{dtype}-d{d}-{block_m}x{block_n}-b{buffers}{'-causal' * causal}",
        signature={
            "q_desc": f"tensordesc<{dtype}[{block_m},{d}]>",
            "k_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "v_desc": f"tensordesc<{dtype}[{block_n},{d}]>",
            "do_desc": f"tensordesc<{dtype}[{block_m},{d}]>",
            "dq_desc": f"tensordesc<fp32[{block_m},{d}]>",
            "lse_ptr": "*fp32",
            "delta_ptr": "*fp32",
            "dk_ptr": "*fp32",
            "dv_ptr": "*fp32",
            "N": "i32",
            "qk_scale": "fp32",
            "scale": "fp32",
        },
        constexprs={
            "D": d,
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "NUM_BUFFERS": buffers,
            "CAUSAL": causal,
        },
        divisible_by_16=("lse_ptr", "delta_ptr", "dk_ptr", "dv_ptr"),
        options={"num_warps": warps},
        problem={"heads": 2, "n": n},
        speed={"heads": 32, "n": 4096},
    )


def _scales(d: int) -> tuple[float, float]:
    return float(np.float32(np.log2(np.e) / np.sqrt(d))), float(np.float32(1 / np.sqrt(d)))


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    heads, n = problem["heads"], problem["n"]
    d, block_m, block_n = (int(spec.constexprs[x]) for x in ("D", "BLOCK_M", "BLOCK_N"))
    dtype = spec.signature["q_desc"].removeprefix("tensordesc<").split("[")[0]
    source = Input((heads * n, d), dtype, specials=False)
    qk_scale, scale = _scales(d)
    return Launch(
        grid=(-(-n // block_n), heads, 1),
        arguments={
            "q_desc": Descriptor(source, (block_m, d)),
            "k_desc": Descriptor(source, (block_n, d)),
            "v_desc": Descriptor(source, (block_n, d)),
            "do_desc": Descriptor(source, (block_m, d)),
            "dq_desc": Descriptor(Output((heads * n, d), "fp32", initial="zero"), (block_m, d)),
            # A true lse is large enough to keep P below one; any positive one keeps it small.
            "lse_ptr": Input((heads, n), "fp32", fill="positive", specials=False),
            "delta_ptr": Input((heads, n), "fp32", specials=False),
            "dk_ptr": Output((heads * n, d), "fp32"),
            "dv_ptr": Output((heads * n, d), "fp32"),
            "N": Scalar(n),
            "qk_scale": Scalar(qk_scale),
            "scale": Scalar(scale),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """P = 2**(Q K^T qk_scale - lse), dV = P^T dO, dS = P (dO V^T - delta), dK = dS^T Q scale,
    dQ = dS K scale.

    ``e`` bounds the exponent's error: 2D truncations of 2**-23 in the dot and a few roundings;
    P is off by a factor 2**e and exp2's 2**-21. dO V^T has 2D truncations; dS inherits both and
    rounds twice; P and dS are rounded to 16 bits for the dots that follow, whose own 2N
    truncations and one rounding of the scale are added, as are the float32 additions of dQ's
    parts. No claim (an infinite bound) where P or dS may leave the 16-bit range.
    """
    heads, n, d = problem["heads"], problem["n"], int(spec.constexprs["D"])
    q, k, v, do = (
        inputs[x].reshape(heads, n, d) for x in ("q_desc", "k_desc", "v_desc", "do_desc")
    )
    lse, delta = (inputs[x].reshape(heads, n, 1) for x in ("lse_ptr", "delta_ptr"))
    dtype = spec.signature["q_desc"].removeprefix("tensordesc<").split("[")[0]
    unit, tiny = ROUNDING[dtype]
    qk_scale, scale = _scales(d)
    key_blocks = -(-n // int(spec.constexprs["BLOCK_N"]))
    dot = 2 * d * 2.0**-23
    summing = 2 * n * 2.0**-23

    product = qk_scale * (q @ k.swapaxes(1, 2))
    t = product - lse
    e = dot * qk_scale * (np.abs(q) @ np.abs(k).swapaxes(1, 2))
    e += 2.0**-23 * (np.abs(product) + np.abs(lse))
    p = np.exp2(np.minimum(t, 200.0))  # beyond every 16-bit range, safe in float64
    if spec.constexprs["CAUSAL"]:
        p = np.where(np.tri(n, dtype=bool), p, 0.0)
    p_error = p * (np.expm1(np.minimum(e * np.log(2), 50.0)) + 2.0**-21)
    dp = do @ v.swapaxes(1, 2)
    dp_error = dot * (np.abs(do) @ np.abs(v).swapaxes(1, 2)) + 2.0**-23 * (
        np.abs(dp) + np.abs(delta)
    )
    ds = p * (dp - delta)
    ds_error = p_error * (np.abs(dp - delta) + dp_error) + p * dp_error + 2.0**-23 * np.abs(ds)
    overflow = (p + p_error > LARGEST[dtype]) | (np.abs(ds) + ds_error > LARGEST[dtype])
    p_error = p_error + unit * (p + p_error) + tiny * (p > 0)
    ds_error = ds_error + unit * (np.abs(ds) + ds_error) + tiny * (p > 0)
    if overflow.any():
        p_error, ds_error = np.full_like(p, np.inf), np.full_like(p, np.inf)

    def product_of(
        left: FloatArray, error: FloatArray, right: FloatArray, factor: float, parts: int
    ) -> Expected:
        size = np.abs(right)
        bound = error @ size + (summing + parts * 2.0**-23) * ((np.abs(left) + error) @ size)
        value = factor * (left @ right)
        bound = factor * bound + 2.0**-23 * np.abs(value)
        return Expected(value.reshape(heads * n, d), bound.reshape(heads * n, d))

    return {
        "dq_desc": product_of(ds, ds_error, k, scale, key_blocks),
        "dk_ptr": product_of(ds.swapaxes(1, 2), ds_error.swapaxes(1, 2), q, scale, 0),
        "dv_ptr": product_of(p.swapaxes(1, 2), p_error.swapaxes(1, 2), do, 1.0, 0),
    }


KERNEL = Kernel(
    function="fa_bwd",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", 64, (64, 64), 2, False, 4, 64 * 4 + 27),
        _spec("bf16", 128, (64, 128), 2, False, 8, 64 * 5 + 63),
        _spec("fp16", 64, (64, 64), 2, True, 4, 64 * 5 + 1),
    ],
    launch=launch,
    reference=reference,
)
