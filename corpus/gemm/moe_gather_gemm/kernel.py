"""Mixture-of-experts GEMM: token rows gathered by cp.async, the expert's weights by TMA."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def moe_gather_gemm(
    x_ptr,
    w_desc,
    token_ptr,
    expert_ptr,
    gate_ptr,
    y_ptr,
    slots,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """y[s] = gate[s] * x[token[s]] @ w[expert of s's block], for BLOCK_M slots at a time.

    w_desc covers all experts' (K, N) matrices as one of experts * K rows; its last tile of an
    expert may run on into the next, where x is masked to zero.
    """
    dtype: tl.constexpr = tlx.dtype_of(x_ptr)
    w_bytes: tl.constexpr = BLOCK_K * BLOCK_N * tlx.size_of(dtype)
    x_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    w_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    full = tlx.alloc_barriers(NUM_BUFFERS)

    slot = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    slot_ok = slot < slots
    token = tl.load(token_ptr + slot, mask=slot_ok, other=0)
    w_row = tl.load(expert_ptr + tl.program_id(0)) * K
    col = tl.program_id(1) * BLOCK_N
    k = tl.arange(0, BLOCK_K)
    x_tile = x_ptr + token[:, None].to(tl.int64) * K + k[None, :]
    steps = tl.cdiv(K, BLOCK_K)

    for step in tl.static_range(NUM_BUFFERS - 1):
        mask = slot_ok[:, None] & (k[None, :] < K - step * BLOCK_K)
        copy = tlx.async_load(x_tile + step * BLOCK_K, x_ring[step], mask=mask, other=0.0)
        tlx.async_load_commit_group([copy])
        if step < steps:
            tlx.barrier_expect_bytes(full[step], w_bytes)
            tlx.async_descriptor_load(
                w_desc, w_ring[step], [w_row + step * BLOCK_K, col], full[step]
            )

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in tl.range(0, steps, num_stages=0):
        buffer = step % NUM_BUFFERS
        tlx.async_load_wait_group(NUM_BUFFERS - 2)
        # x came through the generic proxy, w through the async proxy that wgmma reads by.
        tlx.fence("async_shared")
        tlx.barrier_wait(full[buffer], (step // NUM_BUFFERS) & 1)
        acc = tlx.async_dot(x_ring[buffer], w_ring[buffer], acc)
        acc = tlx.async_dot_wait(1, acc)

        ahead = step + NUM_BUFFERS - 1
        target = ahead % NUM_BUFFERS
        mask = slot_ok[:, None] & (k[None, :] < K - ahead * BLOCK_K)
        copy = tlx.async_load(x_tile + ahead * BLOCK_K, x_ring[target], mask=mask, other=0.0)
        tlx.async_load_commit_group([copy])
        if ahead < steps:
            tlx.barrier_expect_bytes(full[target], w_bytes)
            tlx.async_descriptor_load(
                w_desc, w_ring[target], [w_row + ahead * BLOCK_K, col], full[target]
            )

    acc = tlx.async_dot_wait(0, acc)
    tlx.async_load_wait_group(0)
    gate = tl.load(gate_ptr + slot, mask=slot_ok, other=0.0)
    cols = col + tl.arange(0, BLOCK_N)
    out = y_ptr + slot[:, None].to(tl.int64) * N + cols[None, :]
    value = (acc * gate[:, None]).to(tlx.dtype_of(y_ptr))
    tl.store(out, value, mask=slot_ok[:, None] & (cols < N)[None, :])
