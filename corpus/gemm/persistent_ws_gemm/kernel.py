"""Persistent warp-specialised GEMM: one producer warp, consumers that span warp groups."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def tile_origin(tile, tiles_m, tiles_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """First row and column of a tile, in bands of four tile rows for locality in L2."""
    band = tile // (4 * tiles_n)
    height = tl.minimum(tiles_m - 4 * band, 4)
    inside = tile % (4 * tiles_n)
    return (4 * band + inside % height) * BLOCK_M, inside // height * BLOCK_N


@triton.jit
def persistent_ws_gemm(
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
    EPILOGUES: tl.constexpr,
):
    """C = A @ B; each program takes every num_programs(0)-th tile.

    The default task multiplies with all its warps together and stores C in EPILOGUES column
    parts; a one-warp task feeds it.
    """
    dtype: tl.constexpr = tlx.dtype_of(a_desc)
    out_dtype: tl.constexpr = tlx.dtype_of(c_desc)
    PART: tl.constexpr = BLOCK_N // EPILOGUES
    step_bytes: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * tlx.size_of(dtype)
    a_ring = tlx.local_alloc((BLOCK_M, BLOCK_K), dtype, NUM_BUFFERS)
    b_ring = tlx.local_alloc((BLOCK_K, BLOCK_N), dtype, NUM_BUFFERS)
    c_part = tlx.local_alloc((BLOCK_M, PART), out_dtype, EPILOGUES)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    empty = tlx.alloc_barriers(NUM_BUFFERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tiles_m = tl.cdiv(M, BLOCK_M)
            tiles_n = tl.cdiv(N, BLOCK_N)
            steps = tl.cdiv(K, BLOCK_K)
            # Steps done over all tiles: the ring runs on from one tile to the next.
            done = 0
            for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
                row, col = tile_origin(tile, tiles_m, tiles_n, BLOCK_M, BLOCK_N)
                acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for step in tl.range(0, steps, num_stages=0):
                    count = done + step
                    slot = count % NUM_BUFFERS
                    tlx.barrier_wait(full[slot], (count // NUM_BUFFERS) & 1)
                    acc = tlx.async_dot(a_ring[slot], b_ring[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    if step > 0:
                        tlx.barrier_arrive(empty[(count - 1) % NUM_BUFFERS])
                acc = tlx.async_dot_wait(0, acc)
                done += steps
                tlx.barrier_arrive(empty[(done - 1) % NUM_BUFFERS])

                # The stores of the tile before have had this tile's main loop to finish reading.
                tlx.async_descriptor_store_wait(0)
                parts = acc.to(out_dtype)
                if EPILOGUES == 1:
                    tlx.local_store(c_part[0], parts)
                    tlx.fence("async_shared")
                    tlx.async_descriptor_store(c_desc, c_part[0], [row, col])
                else:
                    parts = tl.reshape(parts, (BLOCK_M, EPILOGUES, PART))
                    left, right = tl.split(tl.permute(parts, (0, 2, 1)))
                    tlx.local_store(c_part[0], left)
                    tlx.fence("async_shared")
                    tlx.async_descriptor_store(c_desc, c_part[0], [row, col])
                    tlx.local_store(c_part[1], right)
                    tlx.fence("async_shared")
                    tlx.async_descriptor_store(c_desc, c_part[1], [row, col + PART])
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, registers=40):
            tiles_m = tl.cdiv(M, BLOCK_M)
            tiles_n = tl.cdiv(N, BLOCK_N)
            steps = tl.cdiv(K, BLOCK_K)
            done = 0
            for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
                row, col = tile_origin(tile, tiles_m, tiles_n, BLOCK_M, BLOCK_N)
                for step in range(steps):
                    count = done + step
                    slot = count % NUM_BUFFERS
                    tlx.barrier_wait(empty[slot], ((count // NUM_BUFFERS) & 1) ^ 1)
                    tlx.barrier_expect_bytes(full[slot], step_bytes)
                    k = step * BLOCK_K
                    tlx.async_descriptor_load(a_desc, a_ring[slot], [row, k], full[slot])
                    tlx.async_descriptor_load(b_desc, b_ring[slot], [k, col], full[slot])
                done += steps
