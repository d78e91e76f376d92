"""Two accumulators, two dots for each step, and a choice of how many dots stay in flight."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def dot_wait_depths(
    x_ptr,
    w_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    HALF_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    PENDING: tl.constexpr,
    ACCUMULATOR: tl.constexpr,
):
    """C = X @ W^T, both row-major along K; a program's tile is 2 * HALF_N columns wide."""
    # Dots in flight after a step's wait read the buffers of the newest LAG steps.
    LAG: tl.constexpr = (PENDING + 1) // 2
    tiles_n = tl.cdiv(N, 2 * HALF_N)
    row = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(0) % tiles_n * 2 * HALF_N + tl.arange(0, HALF_N)
    k = tl.arange(0, BLOCK_K)
    x_tile = x_ptr + row[:, None] * K + k[None, :]
    lo_tile = w_ptr + col[:, None] * K + k[None, :]
    hi_tile = lo_tile + HALF_N * K
    row_ok = row < M
    lo_ok = col < N
    hi_ok = col + HALF_N < N

    dtype: tl.constexpr = tlx.dtype_of(x_ptr)
    x_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    lo_ring = tlx.local_alloc((HALF_N, BLOCK_K), dtype, NUM_BUFFERS)
    hi_ring = tlx.local_alloc((HALF_N, BLOCK_K), dtype, NUM_BUFFERS)

    for step in tl.static_range(NUM_BUFFERS - LAG):
        inside = k[None, :] < K - step * BLOCK_K
        start = step * BLOCK_K
        x_mask = row_ok[:, None] & inside
        x_token = tlx.async_load(x_tile + start, x_ring[step], mask=x_mask, other=0.0)
        lo_mask = lo_ok[:, None] & inside
        lo_token = tlx.async_load(lo_tile + start, lo_ring[step], mask=lo_mask, other=0.0)
        hi_mask = hi_ok[:, None] & inside
        hi_token = tlx.async_load(hi_tile + start, hi_ring[step], mask=hi_mask, other=0.0)
        tlx.async_load_commit_group([x_token, lo_token, hi_token])

    lo = tl.zeros((BLOCK_M, HALF_N), dtype=ACCUMULATOR)
    hi = tl.zeros((BLOCK_M, HALF_N), dtype=ACCUMULATOR)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=0):
        buffer = step % NUM_BUFFERS
        tlx.async_load_wait_group(NUM_BUFFERS - LAG - 1)
        tlx.fence("async_shared")
        lo = tlx.async_dot(
            x_ring[buffer], tlx.local_trans(lo_ring[buffer]), lo, out_dtype=ACCUMULATOR
        )
        hi = tlx.async_dot(
            x_ring[buffer], tlx.local_trans(hi_ring[buffer]), hi, out_dtype=ACCUMULATOR
        )
        lo = tlx.async_dot_wait(PENDING, lo)
        hi = tlx.async_dot_wait(PENDING, hi)

        ahead = step + NUM_BUFFERS - LAG
        target = ahead % NUM_BUFFERS
        start = ahead * BLOCK_K
        inside = k[None, :] < K - start
        x_mask = row_ok[:, None] & inside
        x_token = tlx.async_load(x_tile + start, x_ring[target], mask=x_mask, other=0.0)
        lo_mask = lo_ok[:, None] & inside
        lo_token = tlx.async_load(lo_tile + start, lo_ring[target], mask=lo_mask, other=0.0)
        hi_mask = hi_ok[:, None] & inside
        hi_token = tlx.async_load(hi_tile + start, hi_ring[target], mask=hi_mask, other=0.0)
        tlx.async_load_commit_group([x_token, lo_token, hi_token])

    lo = tlx.async_dot_wait(0, lo)
    hi = tlx.async_dot_wait(0, hi)
    tlx.async_load_wait_group(0)
    out = c_ptr + row[:, None] * N + col[None, :]
    tl.store(out, lo, mask=row_ok[:, None] & lo_ok[None, :])
    tl.store(out + HALF_N, hi, mask=row_ok[:, None] & hi_ok[None, :])
