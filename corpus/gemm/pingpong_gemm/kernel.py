"""Ping-pong GEMM: two consumers alternate tiles, one multiplies while the other stores."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pingpong_gemm(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    TURN: tl.constexpr,
    REGISTERS: tl.constexpr,
):
    """C = relu(A @ B); the program's tiles go to consumers 0, 1, 0, 1, ...

    Named barrier TURN + c tells consumer c that the other has issued its last product. That
    order also keeps a consumer from taking the parity of an earlier lap of the ring for its own.
    """
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    out_dtype: tl.constexpr = tlx.dtype_of(c_desc)
    step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    c_tile = tlx.local_alloc((BLOCK_M, BLOCK_N), out_dtype, 2)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    empty = tlx.alloc_barriers(NUM_BUFFERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tiles_n = tl.cdiv(N, BLOCK_N)
            tiles = tl.cdiv(M, BLOCK_M) * tiles_n
            steps = tl.cdiv(K, BLOCK_K)
            done = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                row = tile // tiles_n * BLOCK_M
                col = tile % tiles_n * BLOCK_N
                for step in range(steps):
                    count = done + step
                    slot = count % NUM_BUFFERS
                    tlx.barrier_wait(empty[slot], ((count // NUM_BUFFERS) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], step_bytes)
                    k = step * BLOCK_K
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k, col], full[slot])
                done += steps

        with tlx.async_task(num_warps=4, registers=REGISTERS, replicate=2):
            mine: tl.constexpr = tlx.async_task_replica_id()
            tiles_n = tl.cdiv(N, BLOCK_N)
            tiles = tl.cdiv(M, BLOCK_M) * tiles_n
            steps = tl.cdiv(K, BLOCK_K)
            programs = tl.num_programs(0)
            first = tl.program_id(0) + mine * programs
            done = mine * steps
            for tile in range(first, tiles, 2 * programs):
                # Consumer 0 has the first turn without being told.
                if tile >= programs:
                    tlx.named_barrier_wait(TURN + mine, 256)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for step in tl.range(0, steps, num_stages=0):
                    count = done + step
                    slot = count % NUM_BUFFERS
                    tlx.barrier_wait(full[slot], (count // NUM_BUFFERS) & 1)
                    acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    if step > 0:
                        tlx.barrier_arrive(empty[(count - 1) % NUM_BUFFERS])
                # The other consumer may start if there is a tile for it.
                if tile + programs < tiles:
                    tlx.named_barrier_arrive(TURN + 1 - mine, 256)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[(done + steps - 1) % NUM_BUFFERS])
                done += 2 * steps

                row = tile // tiles_n * BLOCK_M
                col = tile % tiles_n * BLOCK_N
                tlx.async_descriptor_store_wait(0)
                tlx.local_store(c_tile[mine], tl.maximum(acc, 0.0).to(out_dtype))
                tlx.fence("async_shared")
                tlx.async_descriptor_store(c_desc, c_tile[mine], [row, col])
            tlx.async_descriptor_store_wait(0)
