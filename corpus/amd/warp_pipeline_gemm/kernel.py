"""A GEMM whose loop body is cut into two stages, run half a step apart by two groups of waves."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def warp_pipeline_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """c[m, n] = a[m, k] @ b[k, n], row-major; k is a multiple of BLOCK_K.

    A group of waves reads tile ``step`` from LDS while the other one multiplies. The tile
    fetched in a step goes to a buffer that both groups finished with a whole step ago, so there
    are two buffers more than tiles in flight.
    """
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_ptr), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_ptr), NUM_BUFFERS)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows % m)[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + (columns % n)[None, :]
    steps = k // BLOCK_K
    AHEAD: tl.constexpr = NUM_BUFFERS - 2

    for step in tl.static_range(AHEAD):
        a_token = tlx.async_load(a_ptrs + step * BLOCK_K, tlx.local_view(a_tiles, step))
        b_token = tlx.async_load(b_ptrs + step * BLOCK_K * n, tlx.local_view(b_tiles, step))
        tlx.async_load_commit_group([a_token, b_token])
    tlx.async_load_wait_group(AHEAD - 1)

    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in tl.range(0, steps - AHEAD):
        with tlx.warp_pipeline_stage("read", priority=1):
            a = tlx.local_load(tlx.local_view(a_tiles, step % NUM_BUFFERS), relaxed=True)
            b = tlx.local_load(tlx.local_view(b_tiles, step % NUM_BUFFERS), relaxed=True)
            ahead = step + AHEAD
            a_token = tlx.async_load(
                a_ptrs + ahead * BLOCK_K, tlx.local_view(a_tiles, ahead % NUM_BUFFERS)
            )
            b_token = tlx.async_load(
                b_ptrs + ahead * BLOCK_K * n, tlx.local_view(b_tiles, ahead % NUM_BUFFERS)
            )
            tlx.async_load_commit_group([a_token, b_token])
        # The next step's tile: all but the newest AHEAD - 1 groups have landed.
        tlx.async_load_wait_group(AHEAD - 1)
        with tlx.warp_pipeline_stage("multiply", priority=0):
            total = tl.dot(a, b, total)

    tlx.async_load_wait_group(0)
    for last in tl.static_range(AHEAD):
        step = steps - AHEAD + last
        a = tlx.local_load(tlx.local_view(a_tiles, step % NUM_BUFFERS))
        b = tlx.local_load(tlx.local_view(b_tiles, step % NUM_BUFFERS))
        total = tl.dot(a, b, total)

    inside = (rows < m)[:, None] & (columns < n)[None, :]
    c = total.to(tlx.dtype_of(c_ptr))
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], c, mask=inside)
