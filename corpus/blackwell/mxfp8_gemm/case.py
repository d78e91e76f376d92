"""async_dot_scaled fed by TMA: fp8 tiles with packed e8m0 scales, mixed formats, a transposed b.

Scales read in another order, or a format swapped, change every element; so does a lost trans.
"""

from harness.case import Kernel, Spec


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
    )


# Compiled only: no Input can be filled with e8m0 exponents near 127 (scaled_dot makes its own
# scales and has a reference).
KERNEL = Kernel(
    function="mxfp8_gemm",
    targets=("cuda:100",),
    specs=[
        _spec("fp8e4nv-fp8e4nv-fp16", (128, 128, 128), 3),
        _spec("fp8e5-fp8e4nv-fp16", (128, 128, 256), 2),
    ],
)
