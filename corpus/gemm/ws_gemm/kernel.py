"""Warp-specialised GEMM: one producer feeds cooperative wgmma consumers through TMA."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def ws_gemm(
    a_desc,
    b_desc,
    c_desc,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    CONSUMERS: tl.constexpr,
    REGISTERS: tl.constexpr,
    LOOP_STAGES: tl.constexpr,
):
    """One tile of C = A @ B for each program; each consumer has ROWS of its BLOCK_M rows."""
    ROWS: tl.constexpr = BLOCK_M // CONSUMERS
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    # Consumer c's rows of A lie in views c * NUM_BUFFERS onwards; all consumers share B.
    a_ring = tlx.local_alloc((ROWS, BLOCK_K), dtype, NUM_BUFFERS * CONSUMERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    c_tile = tlx.local_alloc((ROWS, BLOCK_N), tlx.dtype_of(c_desc), CONSUMERS)
    full = tlx.alloc_barriers(NUM_BUFFERS, arrive_count=1)
    empty = tlx.alloc_barriers(NUM_BUFFERS, arrive_count=CONSUMERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tiles_n = tl.cdiv(N, BLOCK_N)
            row = tl.program_id(0) // tiles_n * BLOCK_M
            col = tl.program_id(0) % tiles_n * BLOCK_N
            for step in range(tl.cdiv(K, BLOCK_K)):
                slot = step % NUM_BUFFERS
                # On the first lap the parity is that of a phase before the first: no waiting.
                tlx.barrier_wait(empty[slot], ((step // NUM_BUFFERS) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], step_bytes)
                for part in tl.static_range(CONSUMERS):
                    tlx.async_descriptor_load(
                        a_desc,
                        a_ring[part * NUM_BUFFERS + slot],
                        [row + part * ROWS, step * BLOCK_K],
                        full[slot],
                    )
                tlx.async_descriptor_load(b_desc, b_ring[slot], [step * BLOCK_K, col], full[slot])

        with tlx.async_task(num_warps=4, registers=REGISTERS, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            tiles_n = tl.cdiv(N, BLOCK_N)
            row = tl.program_id(0) // tiles_n * BLOCK_M + part * ROWS
            col = tl.program_id(0) % tiles_n * BLOCK_N
            steps = tl.cdiv(K, BLOCK_K)

            acc = tl.zeros((ROWS, BLOCK_N), dtype=tl.float32)
            # With 0 or 1 stages the compiler should leave the waits as written.
            for step in tl.range(0, steps, num_stages=LOOP_STAGES):
                slot = step % NUM_BUFFERS
                tlx.barrier_wait(full[slot], (step // NUM_BUFFERS) & 1)
                acc = tlx.async_dot(a_ring[part * NUM_BUFFERS + slot], b_ring[slot], acc)
                # The previous dot is done, this one keeps the tensor core busy meanwhile.
                acc = tlx.async_dot_wait(1, acc)
                if step > 0:
                    tlx.barrier_arrive(empty[(step - 1) % NUM_BUFFERS])
            acc = tlx.async_dot_wait(0, acc)
            tlx.barrier_arrive(empty[(steps - 1) % NUM_BUFFERS])

            tlx.local_store(c_tile[part], acc.to(tlx.dtype_of(c_desc)))
            tlx.fence("async_shared")
            tlx.async_descriptor_store(c_desc, c_tile[part], [row, col])
            tlx.async_descriptor_store_wait(0)
