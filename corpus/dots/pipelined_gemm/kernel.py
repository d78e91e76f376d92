"""C = A @ B with wgmma, fed by a hand-written cp.async pipeline."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pipelined_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """One BLOCK_M x BLOCK_N tile of C for each program; A, B and C are row-major."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    row = pid // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    col = pid % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    # Out-of-range rows and columns read zeros and are masked at the store.
    row_ok = row < M
    col_ok = col < N
    a_tile = a_ptr + row[:, None] * stride_am + k[None, :]
    b_tile = b_ptr + k[:, None] * stride_bk + col[None, :]

    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_ptr), NUM_BUFFERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_ptr), NUM_BUFFERS)

    # NUM_BUFFERS - 1 tiles in flight: the buffer left over is the one being multiplied.
    for step in tl.static_range(NUM_BUFFERS - 1):
        left = K - step * BLOCK_K
        a_token = tlx.async_load(
            a_tile + step * BLOCK_K,
            tlx.local_view(a_ring, step),
            mask=row_ok[:, None] & (k[None, :] < left),
            other=0.0,
        )
        b_token = tlx.async_load(
            b_tile + step * BLOCK_K * stride_bk,
            tlx.local_view(b_ring, step),
            mask=(k[:, None] < left) & col_ok[None, :],
            other=0.0,
        )
        tlx.async_load_commit_group([a_token, b_token])

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=0):
        buffer = step % NUM_BUFFERS
        tlx.async_load_wait_group(NUM_BUFFERS - 2)
        # The copies were made by the generic proxy, wgmma reads through the async proxy.
        tlx.fence("async_shared")
        acc = tlx.async_dot(tlx.local_view(a_ring, buffer), tlx.local_view(b_ring, buffer), acc)
        # One dot may stay in flight; the one before has released the buffer refilled below.
        acc = tlx.async_dot_wait(1, acc)

        ahead = step + NUM_BUFFERS - 1
        left = K - ahead * BLOCK_K
        a_token = tlx.async_load(
            a_tile + ahead * BLOCK_K,
            tlx.local_view(a_ring, ahead % NUM_BUFFERS),
            mask=row_ok[:, None] & (k[None, :] < left),
            other=0.0,
        )
        b_token = tlx.async_load(
            b_tile + ahead * BLOCK_K * stride_bk,
            tlx.local_view(b_ring, ahead % NUM_BUFFERS),
            mask=(k[:, None] < left) & col_ok[None, :],
            other=0.0,
        )
        tlx.async_load_commit_group([a_token, b_token])

    acc = tlx.async_dot_wait(0, acc)
    # The last copies were masked off altogether, but still fill their buffers with zeros.
    tlx.async_load_wait_group(0)
    c_tile = c_ptr + row[:, None] * stride_cm + col[None, :]
    tl.store(c_tile, acc.to(tlx.dtype_of(c_ptr)), mask=row_ok[:, None] & col_ok[None, :])
