"""TMA tiles of one, three and four dimensions, loaded and stored back elsewhere."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def rank_copies(
    x_desc,
    y_desc,
    tiles,
    tile_step,
    RANK: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    D2: tl.constexpr,
    D3: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """Copy ``tiles`` tiles along the last dimension, from the start given by program_id(0).

    The first dimension is the program's for rank 3 and 4; a rank-1 program takes every
    num_programs(0)-th tile. D0 to D3 are the block's dimensions, 1 beyond RANK.
    """
    dtype: tl.constexpr = tlx.dtype_of(x_desc)
    if RANK == 1:
        ring = tlx.local_alloc((D0,), dtype, NUM_BUFFERS)
    elif RANK == 3:
        ring = tlx.local_alloc((D0, D1, D2), dtype, NUM_BUFFERS)
    else:
        ring = tlx.local_alloc((D0, D1, D2, D3), dtype, NUM_BUFFERS)
    landed = tlx.alloc_barriers(NUM_BUFFERS)
    tile_bytes: tl.constexpr = D0 * D1 * D2 * D3 * tlx.size_of(dtype)
    lead = tl.program_id(0) * D0

    for step in range(tiles):
        buffer = step % NUM_BUFFERS
        # The store that used this buffer before may still be reading it.
        tlx.async_descriptor_store_wait(NUM_BUFFERS - 1)
        tlx.barrier_expect_bytes(landed[buffer], tile_bytes)
        if RANK == 1:
            at = (step * tl.num_programs(0) + tl.program_id(0)) * tile_step
            tlx.async_descriptor_load(x_desc, ring[buffer], [at], landed[buffer])
        elif RANK == 3:
            at = step * tile_step
            tlx.async_descriptor_load(x_desc, ring[buffer], [lead, 0, at], landed[buffer])
        else:
            at = step * tile_step
            tlx.async_descriptor_load(x_desc, ring[buffer], [lead, 1, 0, at], landed[buffer])
        tlx.barrier_wait(landed[buffer], (step // NUM_BUFFERS) & 1)
        if RANK == 1:
            tlx.async_descriptor_store(y_desc, ring[buffer], [at])
        elif RANK == 3:
            tlx.async_descriptor_store(y_desc, ring[buffer], [lead, 0, at])
        else:
            tlx.async_descriptor_store(y_desc, ring[buffer], [lead, 1, 0, at])

    tlx.async_descriptor_store_wait(0)
