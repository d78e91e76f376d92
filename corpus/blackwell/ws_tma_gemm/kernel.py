"""A Blackwell GEMM in three roles: a TMA producer, a tensor-core issuer and an epilogue."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def ws_tma_gemm(
    a_desc,
    b_desc,
    c_desc,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    MMA_REGISTERS: tl.constexpr,
):
    """C = a @ b, one program per tile of c; TMA fills with zeros what lies outside."""
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), NUM_BUFFERS)
    c_tile = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(c_desc), tl.constexpr(1))
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(NUM_BUFFERS)
    drained = tlx.alloc_barriers(NUM_BUFFERS)
    summed = tlx.alloc_barriers(tl.constexpr(1))
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    steps = tl.cdiv(k, BLOCK_K)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(tlx.local_view(summed, 0), 0)
            result = tlx.local_load(tlx.local_view(sums, 0)).to(tlx.dtype_of(c_desc))
            staged = tlx.local_view(c_tile, 0)
            tlx.local_store(staged, result)
            tlx.fence("async_shared")
            tlx.async_descriptor_store(c_desc, staged, [row, column])
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, registers=MMA_REGISTERS):
            for step in range(steps):
                buffer = step % NUM_BUFFERS
                tlx.barrier_wait(tlx.local_view(filled, buffer), (step // NUM_BUFFERS) & 1)
                tlx.async_dot(
                    tlx.local_view(a_tiles, buffer),
                    tlx.local_view(b_tiles, buffer),
                    tlx.local_view(sums, 0),
                    use_acc=step > 0,
                    mBarriers=[tlx.local_view(drained, buffer)],
                    out_dtype=tl.float32,
                )
            # Tracks all the MMAs issued above.
            tlx.tcgen05_commit(tlx.local_view(summed, 0))

        with tlx.async_task(num_warps=1, registers=24):
            tile_bytes: tl.constexpr = BLOCK_K * (
                BLOCK_M * tlx.size_of(tlx.dtype_of(a_desc))
                + BLOCK_N * tlx.size_of(tlx.dtype_of(b_desc))
            )
            for step in range(steps):
                buffer = step % NUM_BUFFERS
                # The first round finds its buffers free: the phase "before" the first.
                tlx.barrier_wait(tlx.local_view(drained, buffer), ((step // NUM_BUFFERS) & 1) ^ 1)
                bar = tlx.local_view(filled, buffer)
                tlx.barrier_expect_bytes(bar, tile_bytes)
                inner = step * BLOCK_K
                tlx.async_descriptor_load(
                    a_desc, tlx.local_view(a_tiles, buffer), [row, inner], bar
                )
                tlx.async_descriptor_load(
                    b_desc, tlx.local_view(b_tiles, buffer), [inner, column], bar
                )
