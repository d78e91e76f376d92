"""C = (scale * W) @ X with 8-bit weights widened in registers: wgmma's A comes from registers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def register_operand(
    w_ptr,
    x_ptr,
    scale_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    PENDING: tl.constexpr,
):
    """One tile of C for each program; W is (M, K), X (K, N), one scale for each row of W."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    w_tile = w_ptr + row[:, None] * K + k[None, :]
    x_tile = x_ptr + k[:, None] * N + col[None, :]
    row_ok = row < M
    col_ok = col < N

    w_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(w_ptr), NUM_BUFFERS)
    x_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(x_ptr), NUM_BUFFERS)

    for step in tl.static_range(NUM_BUFFERS - 1):
        left = K - step * BLOCK_K
        w_token = tlx.async_load(
            w_tile + step * BLOCK_K,
            tlx.local_view(w_ring, step),
            mask=row_ok[:, None] & (k[None, :] < left),
        )
        x_token = tlx.async_load(
            x_tile + step * BLOCK_K * N,
            tlx.local_view(x_ring, step),
            mask=(k[:, None] < left) & col_ok[None, :],
            other=0.0,
        )
        tlx.async_load_commit_group([w_token, x_token])

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=0):
        buffer = step % NUM_BUFFERS
        tlx.async_load_wait_group(NUM_BUFFERS - 2)
        weights = tlx.local_load(tlx.local_view(w_ring, buffer)).to(tlx.dtype_of(x_ptr))
        # X was copied by the generic proxy and is read by the async proxy.
        tlx.fence("async_shared")
        acc = tlx.async_dot(weights, tlx.local_view(x_ring, buffer), acc)
        acc = tlx.async_dot_wait(PENDING, acc)

        ahead = step + NUM_BUFFERS - 1
        left = K - ahead * BLOCK_K
        w_token = tlx.async_load(
            w_tile + ahead * BLOCK_K,
            tlx.local_view(w_ring, ahead % NUM_BUFFERS),
            mask=row_ok[:, None] & (k[None, :] < left),
        )
        x_token = tlx.async_load(
            x_tile + ahead * BLOCK_K * N,
            tlx.local_view(x_ring, ahead % NUM_BUFFERS),
            mask=(k[:, None] < left) & col_ok[None, :],
            other=0.0,
        )
        tlx.async_load_commit_group([w_token, x_token])

    acc = tlx.async_dot_wait(0, acc)
    tlx.async_load_wait_group(0)
    acc = acc * tl.load(scale_ptr + row, mask=row_ok, other=0.0)[:, None]
    c_tile = c_ptr + row[:, None] * N + col[None, :]
    tl.store(c_tile, acc.to(tlx.dtype_of(c_ptr)), mask=row_ok[:, None] & col_ok[None, :])
