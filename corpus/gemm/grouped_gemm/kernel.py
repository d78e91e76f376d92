"""Grouped GEMM: problems of different heights, one set of device-made descriptors for each."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def grouped_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    groups,
    first_m,
    more_m,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    OWN_SCRATCH: tl.constexpr,
):
    """C[g] = A[g] @ B[g]; group g has first_m + g * more_m rows, packed after group g - 1's.

    The tiles of all groups are numbered through, and program p takes every num_programs(0)-th.
    """
    dtype: tl.constexpr = tlx.dtype_of(a_ptr)
    out_dtype: tl.constexpr = tlx.dtype_of(c_ptr)
    step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    c_tile = tlx.local_alloc((BLOCK_M, BLOCK_N), out_dtype, 1)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    if OWN_SCRATCH:
        a_space = tlx.allocate_tensor_descriptor(2)
        b_space = tlx.allocate_tensor_descriptor(2)
        c_space = tlx.allocate_tensor_descriptor(2)

    tiles_n = tl.cdiv(N, BLOCK_N)
    steps = tl.cdiv(K, BLOCK_K)
    tile = tl.program_id(0)
    group_tile = 0
    group_row = 0
    done = 0
    for group in range(groups):
        height = first_m + group * more_m
        end_tile = group_tile + tl.cdiv(height, BLOCK_M) * tiles_n
        # Every load and store through the descriptors before has been waited for.
        a = a_ptr + group_row.to(tl.int64) * K
        b = b_ptr + group.to(tl.int64) * K * N
        c = c_ptr + group_row.to(tl.int64) * N
        if OWN_SCRATCH:
            turn = group % 2
            tlx.make_tensor_descriptor(a_space[turn], a, [height, K], [K, 1], [BLOCK_M, BLOCK_K])
            tlx.make_tensor_descriptor(b_space[turn], b, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
            tlx.make_tensor_descriptor(c_space[turn], c, [height, N], [N, 1], [BLOCK_M, BLOCK_N])
            a_desc = tlx.reinterpret_tensor_descriptor(a_space[turn], [BLOCK_M, BLOCK_K], dtype)
            b_desc = tlx.reinterpret_tensor_descriptor(b_space[turn], [BLOCK_K, BLOCK_N], dtype)
            c_desc = tlx.reinterpret_tensor_descriptor(c_space[turn], [BLOCK_M, BLOCK_N], out_dtype)
        else:
            a_desc = tl.make_tensor_descriptor(a, [height, K], [K, 1], [BLOCK_M, BLOCK_K])
            b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
            c_desc = tl.make_tensor_descriptor(c, [height, N], [N, 1], [BLOCK_M, BLOCK_N])

        while tile < end_tile:
            row = (tile - group_tile) // tiles_n * BLOCK_M
            col = (tile - group_tile) % tiles_n * BLOCK_N
            for step in tl.static_range(NUM_BUFFERS - 1):
                if step < steps:
                    slot = (done + step) % NUM_BUFFERS
                    k = step * BLOCK_K
                    tlx.barrier_expect_bytes(full[slot], step_bytes)
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k, col], full[slot])

            acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for step in tl.range(0, steps, num_stages=0):
                count = done + step
                slot = count % NUM_BUFFERS
                tlx.barrier_wait(full[slot], (count // NUM_BUFFERS) & 1)
                acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                # The dot of the step before has finished with the buffer filled next.
                acc = tlx.async_dot_wait(1, acc)
                if step + NUM_BUFFERS - 1 < steps:
                    slot = (count + NUM_BUFFERS - 1) % NUM_BUFFERS
                    k = (step + NUM_BUFFERS - 1) * BLOCK_K
                    tlx.barrier_expect_bytes(full[slot], step_bytes)
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k, col], full[slot])
            acc = tlx.async_dot_wait(0, acc)
            done += steps

            tlx.local_store(c_tile[0], acc.to(out_dtype))
            tlx.fence("async_shared")
            # Rows beyond the group's are outside its descriptor and stay the next group's.
            tlx.async_descriptor_store(c_desc, c_tile[0], [row, col])
            tlx.async_descriptor_store_wait(0)
            tile += tl.num_programs(0)

        group_tile = end_tile
        group_row += height
