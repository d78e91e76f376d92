"""Split-K GEMM: programs share a tile of C and add their parts with a reducing TMA store."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def split_k_gemm(
    a_desc,
    b_desc,
    c_desc,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """Add A[:, part] @ B[part, :] to C, which starts as zeros; the part is program_id(1)'s."""
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    out = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, 1)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    empty = tlx.alloc_barriers(NUM_BUFFERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tiles_n = tl.cdiv(N, BLOCK_N)
            row = tl.program_id(0) // tiles_n * BLOCK_M
            col = tl.program_id(0) % tiles_n * BLOCK_N
            # Steps are dealt out in turn, so that no program is left with a short part alone.
            splits = tl.num_programs(1)
            steps = tl.cdiv(tl.cdiv(K, BLOCK_K) - tl.program_id(1), splits)
            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for step in tl.range(0, steps, num_stages=0):
                slot = step % NUM_BUFFERS
                tlx.barrier_wait(full[slot], (step // NUM_BUFFERS) & 1)
                acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[slot])
            tlx.local_store(out[0], acc)
            tlx.fence("async_shared")
            tlx.async_descriptor_store(c_desc, out[0], [row, col], store_reduce="add")
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, registers=48):
            tiles_n = tl.cdiv(N, BLOCK_N)
            row = tl.program_id(0) // tiles_n * BLOCK_M
            col = tl.program_id(0) % tiles_n * BLOCK_N
            splits = tl.num_programs(1)
            steps = tl.cdiv(tl.cdiv(K, BLOCK_K) - tl.program_id(1), splits)
            for step in range(steps):
                slot = step % NUM_BUFFERS
                k = (step * splits + tl.program_id(1)) * BLOCK_K
                tlx.barrier_wait(empty[slot], ((step // NUM_BUFFERS) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], step_bytes)
                tlx.async_descriptor_load(a_desc, a_ring[slot], [row, k], full[slot])
                tlx.async_descriptor_load(b_desc, b_ring[slot], [k, col], full[slot])
