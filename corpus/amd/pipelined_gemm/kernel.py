"""A GEMM whose tiles go straight to LDS, several steps ahead of the matrix cores."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pipelined_gemm(
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
    """c[m, n] = a[m, k] @ b[k, n], row-major; k is a multiple of BLOCK_K, m and n are not."""
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_ptr), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_ptr), NUM_BUFFERS)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # Rows and columns past the end wrap round: they are read again and not stored.
    a_ptrs = a_ptr + (rows % m)[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + (columns % n)[None, :]
    steps = k // BLOCK_K

    for step in tl.static_range(NUM_BUFFERS - 1):
        a_token = tlx.async_load(a_ptrs + step * BLOCK_K, tlx.local_view(a_tiles, step))
        b_token = tlx.async_load(b_ptrs + step * BLOCK_K * n, tlx.local_view(b_tiles, step))
        tlx.async_load_commit_group([a_token, b_token])

    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(steps - (NUM_BUFFERS - 1)):
        ahead = step + NUM_BUFFERS - 1
        a_token = tlx.async_load(
            a_ptrs + ahead * BLOCK_K, tlx.local_view(a_tiles, ahead % NUM_BUFFERS)
        )
        b_token = tlx.async_load(
            b_ptrs + ahead * BLOCK_K * n, tlx.local_view(b_tiles, ahead % NUM_BUFFERS)
        )
        tlx.async_load_commit_group([a_token, b_token])
        ready = tlx.async_load_wait_group(NUM_BUFFERS - 1)
        a = tlx.local_load(tlx.local_view(a_tiles, step % NUM_BUFFERS), ready)
        b = tlx.local_load(tlx.local_view(b_tiles, step % NUM_BUFFERS), ready)
        total = tl.dot(a, b, total)

    # The last NUM_BUFFERS - 1 tiles are under way or there.
    ready = tlx.async_load_wait_group(0)
    for last in tl.static_range(NUM_BUFFERS - 1):
        step = steps - (NUM_BUFFERS - 1) + last
        a = tlx.local_load(tlx.local_view(a_tiles, step % NUM_BUFFERS), ready)
        b = tlx.local_load(tlx.local_view(b_tiles, step % NUM_BUFFERS), ready)
        total = tl.dot(a, b, total)

    inside = (rows < m)[:, None] & (columns < n)[None, :]
    c = total.to(tlx.dtype_of(c_ptr))
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], c, mask=inside)
