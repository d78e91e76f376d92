"""Flash attention backward: dK and dV in registers, dQ added up by reducing TMA stores."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def fa_bwd(
    q_desc,
    k_desc,
    v_desc,
    do_desc,
    dq_desc,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    N,
    qk_scale,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """Keys of block ``program_id(0)`` of head ``program_id(1)`` against all queries.

    lse is the rows' base-2 log-sum-exp, delta their rowsum(dO * O); qk_scale is scale * log2(e).
    Score tiles are kept transposed, keys down and queries across, so that P^T and dS^T can be
    register operands. Tiles at a head's end read on into the next head: lse = inf there makes
    P, and with it every contribution, zero.
    """
    dtype: tl.constexpr = tlx.dtype_of(q_desc)
    out_dtype: tl.constexpr = tlx.dtype_of(dk_ptr)
    kv_bytes: tl.constexpr = BLOCK_N * D * tlx.size_of(dtype)
    q_bytes: tl.constexpr = BLOCK_M * D * tlx.size_of(dtype)
    k_tile = tlx.local_alloc((BLOCK_N, D), dtype, 1)
    v_tile = tlx.local_alloc((BLOCK_N, D), dtype, 1)
    q_ring = tlx.local_alloc((BLOCK_M, D), dtype, NUM_BUFFERS)
    do_ring = tlx.local_alloc((BLOCK_M, D), dtype, NUM_BUFFERS)
    ds_tile = tlx.local_alloc((BLOCK_N, BLOCK_M), dtype, 1)
    dq_tile = tlx.local_alloc((BLOCK_M, D), tl.float32, 1)
    kv_full = tlx.alloc_barriers(1)
    q_full = tlx.alloc_barriers(NUM_BUFFERS)
    do_full = tlx.alloc_barriers(NUM_BUFFERS)

    first_key = tl.program_id(0) * BLOCK_N
    head_row = tl.program_id(1) * N
    keys = first_key + tl.arange(0, BLOCK_N)
    key_ok = keys < N
    blocks = tl.cdiv(N, BLOCK_M)
    # Causal queries before the first key see none of these keys.
    first_block = 0
    if CAUSAL:
        first_block = first_key // BLOCK_M

    tlx.barrier_expect_bytes(kv_full[0], 2 * kv_bytes)
    tlx.async_descriptor_load(k_desc, k_tile[0], [head_row + first_key, 0], kv_full[0])
    tlx.async_descriptor_load(v_desc, v_tile[0], [head_row + first_key, 0], kv_full[0])
    for step in tl.static_range(NUM_BUFFERS):
        if first_block + step < blocks:
            row = head_row + (first_block + step) * BLOCK_M
            tlx.barrier_expect_bytes(q_full[step], q_bytes)
            tlx.async_descriptor_load(q_desc, q_ring[step], [row, 0], q_full[step])
            tlx.barrier_expect_bytes(do_full[step], q_bytes)
            tlx.async_descriptor_load(do_desc, do_ring[step], [row, 0], do_full[step])

    dk = tl.zeros((BLOCK_N, D), dtype=tl.float32)
    dv = tl.zeros((BLOCK_N, D), dtype=tl.float32)
    score_zeros = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    dq_zeros = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    tlx.barrier_wait(kv_full[0], 0)
    for block in tl.range(first_block, blocks, num_stages=0):
        buffer = (block - first_block) % NUM_BUFFERS
        parity = ((block - first_block) // NUM_BUFFERS) & 1
        queries = block * BLOCK_M + tl.arange(0, BLOCK_M)
        query_ok = queries < N
        lse = tl.load(lse_ptr + head_row + queries, mask=query_ok, other=float("inf"))
        delta = tl.load(delta_ptr + head_row + queries, mask=query_ok, other=0.0)

        tlx.barrier_wait(q_full[buffer], parity)
        scores = tlx.async_dot(k_tile[0], tlx.local_trans(q_ring[buffer]), score_zeros)
        tlx.barrier_wait(do_full[buffer], parity)
        dp = tlx.async_dot(v_tile[0], tlx.local_trans(do_ring[buffer]), score_zeros)
        scores = tlx.async_dot_wait(1, scores)
        p = tl.math.exp2(scores * qk_scale - lse[None, :])
        keep = key_ok[:, None]
        if CAUSAL:
            keep = keep & (keys[:, None] <= queries[None, :])
        p = tl.where(keep, p, 0.0)
        dv = tlx.async_dot(p.to(dtype), do_ring[buffer], dv)
        dp = tlx.async_dot_wait(1, dp)
        ds = (p * (dp - delta[None, :])).to(dtype)
        tlx.local_store(ds_tile[0], ds)
        tlx.fence("async_shared")
        dk = tlx.async_dot(ds, q_ring[buffer], dk)
        dq = tlx.async_dot(tlx.local_trans(ds_tile[0]), k_tile[0], dq_zeros)
        dv = tlx.async_dot_wait(0, dv)
        dk = tlx.async_dot_wait(0, dk)
        dq = tlx.async_dot_wait(0, dq)

        if block + NUM_BUFFERS < blocks:
            row = head_row + (block + NUM_BUFFERS) * BLOCK_M
            tlx.barrier_expect_bytes(q_full[buffer], q_bytes)
            tlx.async_descriptor_load(q_desc, q_ring[buffer], [row, 0], q_full[buffer])
            tlx.barrier_expect_bytes(do_full[buffer], q_bytes)
            tlx.async_descriptor_load(do_desc, do_ring[buffer], [row, 0], do_full[buffer])

        # The reduction before has had this step's dots to finish reading.
        tlx.async_descriptor_store_wait(0)
        tlx.local_store(dq_tile[0], dq * scale)
        tlx.fence("async_shared")
        row = head_row + block * BLOCK_M
        tlx.async_descriptor_store(dq_desc, dq_tile[0], [row, 0], store_reduce="add")

    # Before anything below may take over the memory that the last reduction reads.
    tlx.async_descriptor_store_wait(0)
    offsets = (head_row + keys)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(dk_ptr + offsets, (dk * scale).to(out_dtype), mask=key_ok[:, None])
    tl.store(dv_ptr + offsets, dv.to(out_dtype), mask=key_ok[:, None])
