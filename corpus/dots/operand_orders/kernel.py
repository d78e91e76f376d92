"""wgmma on operands stored either way round, staged through registers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def operand_orders(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    A_BY_K: tl.constexpr,
    B_BY_N: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """C = A @ B; A is stored (K, M) if A_BY_K, else (M, K); B (N, K) if B_BY_N, else (K, N)."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    row = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    dtype: tl.constexpr = tlx.dtype_of(a_ptr)
    if A_BY_K:
        a_ring = tlx.local_alloc((BLOCK_K, BLOCK_M), dtype, 2)
    else:
        a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, 2)
    if B_BY_N:
        b_ring = tlx.local_alloc((BLOCK_N, BLOCK_K), dtype, 2)
    else:
        b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, 2)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=0):
        k = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_view = a_ring[step % 2]
        if A_BY_K:
            mask = (k < K)[:, None] & (row < M)[None, :]
            a = tl.load(a_ptr + k[:, None] * M + row[None, :], mask=mask, other=0.0)
            tlx.local_store(a_view, a)
            a_view = tlx.local_trans(a_view)
        else:
            mask = (row < M)[:, None] & (k < K)[None, :]
            a = tl.load(a_ptr + row[:, None] * K + k[None, :], mask=mask, other=0.0)
            tlx.local_store(a_view, a)
        b_view = b_ring[step % 2]
        if B_BY_N:
            mask = (col < N)[:, None] & (k < K)[None, :]
            b = tl.load(b_ptr + col[:, None] * K + k[None, :], mask=mask, other=0.0)
            tlx.local_store(b_view, b)
            b_view = tlx.local_trans(b_view)
        else:
            mask = (k < K)[:, None] & (col < N)[None, :]
            b = tl.load(b_ptr + k[:, None] * N + col[None, :], mask=mask, other=0.0)
            tlx.local_store(b_view, b)
        # Written by the generic proxy, read by the async proxy.
        tlx.fence_async_shared()
        acc = tlx.async_dot(a_view, b_view, acc, input_precision=PRECISION)
        # The other half of each ring is free once the dot before has finished.
        acc = tlx.async_dot_wait(1, acc)

    acc = tlx.async_dot_wait(0, acc)
    c_tile = c_ptr + row[:, None] * N + col[None, :]
    tl.store(c_tile, acc, mask=(row < M)[:, None] & (col < N)[None, :])
