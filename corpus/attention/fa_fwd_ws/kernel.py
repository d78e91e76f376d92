"""Flash attention forward, warp-specialised: a producer and two consumers of 64 or 128 rows."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def fa_fwd_ws(
    q_desc,
    k_desc,
    v_desc,
    o_desc,
    lse_ptr,
    N,
    qk_scale,
    D: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    CAUSAL: tl.constexpr,
    REGISTERS: tl.constexpr,
):
    """2 * ROWS rows of head ``program_id(1)``; qk_scale includes log2(e).

    The descriptors are of rank 2 over (heads * N, D) for Q, K and V, where a tile at a head's
    end reads on into the next head and is masked, and of rank 3 over (heads, N, D) for O, where
    it must not write on.
    """
    dtype: tl.constexpr = tlx.dtype_of(q_desc)
    tile_bytes: tl.constexpr = BLOCK_N * D * tlx.size_of(dtype)
    q_tile = tlx.local_alloc((ROWS, D), dtype, 2)
    k_ring = tlx.local_alloc((BLOCK_N, D), dtype, NUM_BUFFERS)
    v_ring = tlx.local_alloc((BLOCK_N, D), dtype, NUM_BUFFERS)
    o_tile = tlx.local_alloc((1, ROWS, D), dtype, 2)
    q_full = tlx.alloc_barriers(2)
    k_full = tlx.alloc_barriers(NUM_BUFFERS)
    v_full = tlx.alloc_barriers(NUM_BUFFERS)
    k_empty = tlx.alloc_barriers(NUM_BUFFERS, arrive_count=2)
    v_empty = tlx.alloc_barriers(NUM_BUFFERS, arrive_count=2)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            first_row = tl.program_id(0) * 2 * ROWS
            head_row = tl.program_id(1) * N
            tiles = tl.cdiv(N, BLOCK_N)
            if CAUSAL:
                tiles = tl.minimum(tiles, tl.cdiv(first_row + 2 * ROWS, BLOCK_N))
            for part in tl.static_range(2):
                row = head_row + first_row + part * ROWS
                tlx.barrier_expect_bytes(q_full[part], ROWS * D * tlx.size_of(dtype))
                tlx.async_descriptor_load(q_desc, q_tile[part], [row, 0], q_full[part])
            for tile in range(tiles):
                slot = tile % NUM_BUFFERS
                parity = ((tile // NUM_BUFFERS) & 1) ^ 1
                row = head_row + tile * BLOCK_N
                tlx.barrier_wait(k_empty[slot], parity)
                tlx.barrier_expect_bytes(k_full[slot], tile_bytes)
                tlx.async_descriptor_load(k_desc, k_ring[slot], [row, 0], k_full[slot])
                tlx.barrier_wait(v_empty[slot], parity)
                tlx.barrier_expect_bytes(v_full[slot], tile_bytes)
                tlx.async_descriptor_load(v_desc, v_ring[slot], [row, 0], v_full[slot])

        with tlx.async_task(num_warps=4, registers=REGISTERS, replicate=2):
            part: tl.constexpr = tlx.async_task_replica_id()
            first_row = tl.program_id(0) * 2 * ROWS
            rows = first_row + part * ROWS + tl.arange(0, ROWS)
            # Both consumers go through the same tiles, so that each empties every slot.
            tiles = tl.cdiv(N, BLOCK_N)
            if CAUSAL:
                tiles = tl.minimum(tiles, tl.cdiv(first_row + 2 * ROWS, BLOCK_N))
            row_max = tl.full((ROWS,), float("-inf"), dtype=tl.float32)
            row_sum = tl.zeros((ROWS,), dtype=tl.float32)
            acc = tl.zeros((ROWS, D), dtype=tl.float32)
            zeros = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)

            tlx.barrier_wait(q_full[part], 0)
            for tile in tl.range(0, tiles, num_stages=0):
                slot = tile % NUM_BUFFERS
                parity = (tile // NUM_BUFFERS) & 1
                tlx.barrier_wait(k_full[slot], parity)
                scores = tlx.async_dot(q_tile[part], tlx.local_trans(k_ring[slot]), zeros)
                scores = tlx.async_dot_wait(0, scores)
                tlx.barrier_arrive(k_empty[slot])

                cols = tile * BLOCK_N + tl.arange(0, BLOCK_N)
                keep = (cols < N)[None, :]
                if CAUSAL:
                    keep = keep & (cols[None, :] <= rows[:, None])
                scores = tl.where(keep, scores * qk_scale, float("-inf"))
                new_max = tl.maximum(row_max, tl.max(scores, 1))
                p = tl.math.exp2(scores - new_max[:, None])
                correction = tl.math.exp2(row_max - new_max)
                row_sum = row_sum * correction + tl.sum(p, 1)
                row_max = new_max
                acc = acc * correction[:, None]

                tlx.barrier_wait(v_full[slot], parity)
                acc = tlx.async_dot(p.to(dtype), v_ring[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(v_empty[slot])

            out = (acc / row_sum[:, None]).to(dtype)
            tlx.local_store(o_tile[part], tl.reshape(out, (1, ROWS, D)))
            tlx.fence("async_shared")
            start = first_row + part * ROWS
            tlx.async_descriptor_store(o_desc, o_tile[part], [tl.program_id(1), start, 0])
            tlx.async_descriptor_store_wait(0)
            lse = row_max + tl.math.log2(row_sum)
            tl.store(lse_ptr + tl.program_id(1) * N + rows, lse, mask=rows < N)
