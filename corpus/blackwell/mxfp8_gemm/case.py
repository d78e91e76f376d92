"""async_dot_scaled fed by TMA: fp8 tiles with packed e8m0 scales, mixed formats, a transposed b.

Scales read in another order, or a format swapped, change every element; so does a lost trans.
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

# e8m0 exponents 123 to 127 mean factors of 2**-4 to 1: sums stay far from fp16's limit.
LEAST, EXPONENTS, BIAS = 123, 5, 127


def _spec(types: str, blocks: tuple[int, int, int], buffers: int) -> Spec:
    left, right, result = types.split("-")
    block_m, block_n, block_k = blocks
    inner = f"{block_k // 128},2,256"
    return Spec(
        name=f"{types}-{block_m}x{block_n}x{block_k}-b{buffers}",
        signature={
            "a_desc": f"tensordesc<{left}[{block_m},{block_k}]>",
            "a_scale_desc": f"tensordesc<u8[1,{block_m // 128},{inner}]>",
            "b_desc": f"tensordesc<{right}[{block_n},{block_k}]>",
            "b_scale_desc": f"tensordesc<u8[1,{block_n // 128},{inner}]>",
            "c_desc": f"tensordesc<{result}[{block_m},{block_n}]>",
            "k": "i32",
        },
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
        },
        options={"num_warps": 4, "num_stages": 1},
        problem={"m": 2 * block_m - 40, "n": 2 * block_n - 24, "k": (buffers + 2) * block_k},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n, k = problem["m"], problem["n"], problem["k"]

    def described(name: str, shape: tuple[int, ...]) -> Descriptor:
        kind, block = spec.signature[name][len("tensordesc<") : -2].split("[")
        if name == "c_desc":
            tensor: Input | Output = Output(shape, kind)
        elif "scale" in name:
            tensor = Input(shape, kind, fill="index", modulo=EXPONENTS, offset=LEAST)
        else:
            tensor = Input(shape, kind, specials=False)
        return Descriptor(tensor, tuple(int(extent) for extent in block.split(",")))

    grid_m = -(-m // int(spec.constexprs["BLOCK_M"]))
    grid_n = -(-n // int(spec.constexprs["BLOCK_N"]))
    return Launch(
        grid=(grid_m, grid_n, 1),
        arguments={
            "a_desc": described("a_desc", (m, k)),
            "a_scale_desc": described("a_scale_desc", (1, -(-m // 128), k // 128, 2, 256)),
            "b_desc": described("b_desc", (n, k)),
            "b_scale_desc": described("b_scale_desc", (1, -(-n // 128), k // 128, 2, 256)),
            "c_desc": described("c_desc", (m, n)),
            "k": Scalar(k),
        },
    )


def _factors(packed: FloatArray, rows: int) -> FloatArray:
    """Packed e8m0 scales (1, rows / 128, k / 128, 2, 256) as one factor per element [rows, k].

    A block of 512 holds, for each of 32 rows, those of rows r, r + 32, r + 64, r + 96.
    """
    _, groups_m, groups_k, _, _ = packed.shape
    blocks = packed.reshape(groups_m, groups_k, 32, 4, 4).transpose(0, 3, 2, 1, 4)
    exponents = blocks.reshape(groups_m * 128, groups_k * 4)[:rows]
    return np.repeat(2.0 ** (exponents - BIAS), 32, axis=1)


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Scaled products are exact in float32 (powers of two); each of the k additions, in any
    order, loses at most 2**-22 of the magnitudes summed (the tensor core may truncate and
    aligns a group of products to the largest): gamma_k; then one rounding to float16."""
    a = inputs["a_desc"] * _factors(inputs["a_scale_desc"], problem["m"])
    b = inputs["b_desc"] * _factors(inputs["b_scale_desc"], problem["n"])
    value = a @ b.T
    k_u = problem["k"] * 2.0**-22
    bound = k_u / (1 - k_u) * (np.abs(a) @ np.abs(b).T)
    # 2**-25: half the spacing of subnormal float16.
    return {"c_desc": Expected(value, bound + 2.0**-11 * (np.abs(value) + bound) + 2.0**-25)}


KERNEL = Kernel(
    function="mxfp8_gemm",
    targets=("cuda:100",),
    specs=[
        _spec("fp8e4nv-fp8e4nv-fp16", (128, 128, 128), 3),
        _spec("fp8e5-fp8e4nv-fp16", (128, 128, 256), 2),
    ],
    launch=launch,
    reference=reference,
)
