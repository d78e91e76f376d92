"""Flash attention forward by one warp group: softmax overlapped with the previous P V product."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def softmax_step(scores, row_max, row_sum, rows, first_col, N, qk_scale, CAUSAL: tl.constexpr):
    """Fold one tile of raw scores into the running base-2 softmax: (p, correction, max, sum)."""
    cols = first_col + tl.arange(0, scores.shape[1])
    keep = cols[None, :] < N
    if CAUSAL:
        keep = keep & (cols[None, :] <= rows[:, None])
    scores = tl.where(keep, scores * qk_scale, float("-inf"))
    new_max = tl.maximum(row_max, tl.max(scores, 1))
    p = tl.math.exp2(scores - new_max[:, None])
    correction = tl.math.exp2(row_max - new_max)
    return p, correction, new_max, row_sum * correction + tl.sum(p, 1)


@triton.jit
def fa_fwd_pipelined(
    q_desc,
    k_desc,
    v_desc,
    o_ptr,
    lse_ptr,
    N,
    qk_scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    CAUSAL: tl.constexpr,
    LOOP_STAGES: tl.constexpr,
):
    """Rows of block ``program_id(0)`` of head ``program_id(1)``; qk_scale includes log2(e).

    The descriptors cover all heads as one matrix of N * heads rows, so a tile at a head's end
    also reads rows of the next head: the mask gives them weight 0.
    """
    dtype: tl.constexpr = tlx.dtype_of(q_desc)
    tile_bytes: tl.constexpr = BLOCK_N * D * tlx.size_of(dtype)
    q_tile = tlx.local_alloc((BLOCK_M, D), dtype, 1)
    k_ring = tlx.local_alloc((BLOCK_N, D), dtype, NUM_BUFFERS)
    v_ring = tlx.local_alloc((BLOCK_N, D), dtype, NUM_BUFFERS)
    q_full = tlx.alloc_barriers(1)
    k_full = tlx.alloc_barriers(NUM_BUFFERS)
    v_full = tlx.alloc_barriers(NUM_BUFFERS)

    first_row = tl.program_id(0) * BLOCK_M
    head_row = tl.program_id(1) * N
    rows = first_row + tl.arange(0, BLOCK_M)
    tiles = tl.cdiv(N, BLOCK_N)
    if CAUSAL:
        tiles = tl.minimum(tiles, tl.cdiv(first_row + BLOCK_M, BLOCK_N))

    tlx.barrier_expect_bytes(q_full[0], BLOCK_M * D * tlx.size_of(dtype))
    tlx.async_descriptor_load(q_desc, q_tile[0], [head_row + first_row, 0], q_full[0])
    for tile in tl.static_range(NUM_BUFFERS):
        # Only what will be waited for: a copy must not outlive the program.
        if tile < tiles:
            row = head_row + tile * BLOCK_N
            tlx.barrier_expect_bytes(k_full[tile], tile_bytes)
            tlx.async_descriptor_load(k_desc, k_ring[tile], [row, 0], k_full[tile])
            tlx.barrier_expect_bytes(v_full[tile], tile_bytes)
            tlx.async_descriptor_load(v_desc, v_ring[tile], [row, 0], v_full[tile])

    row_max = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    zeros = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)

    tlx.barrier_wait(q_full[0], 0)
    tlx.barrier_wait(k_full[0], 0)
    scores = tlx.async_dot(q_tile[0], tlx.local_trans(k_ring[0]), zeros)
    scores = tlx.async_dot_wait(0, scores)
    if tiles > NUM_BUFFERS:
        row = head_row + NUM_BUFFERS * BLOCK_N
        tlx.barrier_expect_bytes(k_full[0], tile_bytes)
        tlx.async_descriptor_load(k_desc, k_ring[0], [row, 0], k_full[0])
    p, correction, row_max, row_sum = softmax_step(
        scores, row_max, row_sum, rows, 0, N, qk_scale, CAUSAL
    )
    p = p.to(dtype)

    # With 0 or 1 stages the compiler should leave the pipeline, and its waits, as written.
    for tile in tl.range(0, tiles - 1, num_stages=LOOP_STAGES):
        this = tile % NUM_BUFFERS
        nxt = (tile + 1) % NUM_BUFFERS
        tlx.barrier_wait(k_full[nxt], ((tile + 1) // NUM_BUFFERS) & 1)
        scores = tlx.async_dot(q_tile[0], tlx.local_trans(k_ring[nxt]), zeros)
        tlx.barrier_wait(v_full[this], (tile // NUM_BUFFERS) & 1)
        acc = tlx.async_dot(p, v_ring[this], acc)
        # The scores are ready; the product with V runs on under the softmax.
        scores = tlx.async_dot_wait(1, scores)
        new_p, correction, row_max, row_sum = softmax_step(
            scores, row_max, row_sum, rows, (tile + 1) * BLOCK_N, N, qk_scale, CAUSAL
        )
        acc = tlx.async_dot_wait(0, acc)
        acc = acc * correction[:, None]
        p = new_p.to(dtype)

        # Both products of this step are done and have freed V's tile and K's next.
        if tile + 1 + NUM_BUFFERS < tiles:
            row = head_row + (tile + 1 + NUM_BUFFERS) * BLOCK_N
            tlx.barrier_expect_bytes(k_full[nxt], tile_bytes)
            tlx.async_descriptor_load(k_desc, k_ring[nxt], [row, 0], k_full[nxt])
        if tile + NUM_BUFFERS < tiles:
            row = head_row + (tile + NUM_BUFFERS) * BLOCK_N
            tlx.barrier_expect_bytes(v_full[this], tile_bytes)
            tlx.async_descriptor_load(v_desc, v_ring[this], [row, 0], v_full[this])

    last = tiles - 1
    tlx.barrier_wait(v_full[last % NUM_BUFFERS], (last // NUM_BUFFERS) & 1)
    acc = tlx.async_dot(p, v_ring[last % NUM_BUFFERS], acc)
    acc = tlx.async_dot_wait(0, acc)

    row_ok = rows < N
    out = o_ptr + (head_row + rows)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(out, (acc / row_sum[:, None]).to(tlx.dtype_of(o_ptr)), mask=row_ok[:, None])
    tl.store(lse_ptr + head_row + rows, row_max + tl.math.log2(row_sum), mask=row_ok)
