"""A block-scaled (MX) fp8 GEMM: tiles and their packed scales arrive together by TMA."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def mxfp8_gemm(
    a_desc,
    a_scale_desc,
    b_desc,
    b_scale_desc,
    c_desc,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """C = (a, scaled) @ (b, scaled).T for a [m, k] and b [n, k], one e8m0 scale per 32 of k.

    Scales lie in memory as the tensor core wants them: one block of 512 bytes for 128 rows and
    4 scales, shape (1, rows / 128, k / 128, 2, 256).
    """
    GROUPS_M: tl.constexpr = BLOCK_M // 128
    GROUPS_N: tl.constexpr = BLOCK_N // 128
    GROUPS_K: tl.constexpr = BLOCK_K // 128
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_N, BLOCK_K), tlx.dtype_of(b_desc), NUM_BUFFERS)
    a_scales = tlx.local_alloc((1, GROUPS_M, GROUPS_K, 2, 256), tl.uint8, NUM_BUFFERS)
    b_scales = tlx.local_alloc((1, GROUPS_N, GROUPS_K, 2, 256), tl.uint8, NUM_BUFFERS)
    c_tile = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(c_desc), tl.constexpr(1))
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(NUM_BUFFERS)
    drained = tlx.alloc_barriers(NUM_BUFFERS)
    summed = tlx.alloc_barriers(tl.constexpr(1))
    tile_m = tl.program_id(0)
    tile_n = tl.program_id(1)
    steps = tl.cdiv(k, BLOCK_K)
    A_FORMAT: tl.constexpr = tlx.get_fp8_format_name(tlx.dtype_of(a_desc))
    B_FORMAT: tl.constexpr = tlx.get_fp8_format_name(tlx.dtype_of(b_desc))

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(tlx.local_view(summed, 0), 0)
            staged = tlx.local_view(c_tile, 0)
            tlx.local_store(
                staged, tlx.local_load(tlx.local_view(sums, 0)).to(tlx.dtype_of(c_desc))
            )
            tlx.fence("async_shared")
            tlx.async_descriptor_store(c_desc, staged, [tile_m * BLOCK_M, tile_n * BLOCK_N])
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, registers=24):
            for step in range(steps):
                buffer = step % NUM_BUFFERS
                tlx.barrier_wait(tlx.local_view(filled, buffer), (step // NUM_BUFFERS) & 1)
                tlx.async_dot_scaled(
                    tlx.local_view(a_tiles, buffer),
                    tlx.local_trans(tlx.local_view(b_tiles, buffer)),
                    tlx.local_view(sums, 0),
                    tlx.local_view(a_scales, buffer),
                    A_FORMAT,
                    tlx.local_view(b_scales, buffer),
                    B_FORMAT,
                    use_acc=step > 0,
                    mBarriers=[tlx.local_view(drained, buffer)],
                )
            tlx.tcgen05_commit(tlx.local_view(summed, 0))

        with tlx.async_task(num_warps=1, registers=24):
            # One byte per element, one per scale.
            step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * (BLOCK_K + BLOCK_K // 32)
            for step in range(steps):
                buffer = step % NUM_BUFFERS
                tlx.barrier_wait(tlx.local_view(drained, buffer), ((step // NUM_BUFFERS) & 1) ^ 1)
                bar = tlx.local_view(filled, buffer)
                tlx.barrier_expect_bytes(bar, step_bytes)
                inner = step * BLOCK_K
                tlx.async_descriptor_load(
                    a_desc, tlx.local_view(a_tiles, buffer), [tile_m * BLOCK_M, inner], bar
                )
                tlx.async_descriptor_load(
                    b_desc, tlx.local_view(b_tiles, buffer), [tile_n * BLOCK_N, inner], bar
                )
                tlx.async_descriptor_load(
                    a_scale_desc,
                    tlx.local_view(a_scales, buffer),
                    [0, tile_m * GROUPS_M, step * GROUPS_K, 0, 0],
                    bar,
                )
                tlx.async_descriptor_load(
                    b_scale_desc,
                    tlx.local_view(b_scales, buffer),
                    [0, tile_n * GROUPS_N, step * GROUPS_K, 0, 0],
                    bar,
                )
