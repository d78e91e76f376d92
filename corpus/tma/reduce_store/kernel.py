"""TMA reducing stores: several programs combine their tiles in global memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def reduce_store(
    x_desc,
    y_desc,
    M,
    N,
    KIND: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """Combine rows ``program_id(0)`` of part ``program_id(1)`` of x into y, tile by tile."""
    tile_bytes: tl.constexpr = BLOCK_M * BLOCK_N * tlx.size_of(tlx.dtype_of(x_desc))
    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_desc), NUM_BUFFERS)
    landed = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * BLOCK_M
    # M is a multiple of BLOCK_M, so no tile mixes two parts.
    source = tl.program_id(1) * M + row
    steps = tl.cdiv(N, BLOCK_N)

    for step in tl.static_range(NUM_BUFFERS):
        if step < steps:
            tlx.barrier_expect_bytes(landed[step], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[step], [source, step * BLOCK_N], landed[step])

    for step in range(steps):
        buffer = step % NUM_BUFFERS
        tlx.barrier_wait(landed[buffer], (step // NUM_BUFFERS) & 1)
        tlx.async_descriptor_store(y_desc, ring[buffer], [row, step * BLOCK_N], store_reduce=KIND)
        tlx.async_descriptor_store_wait(0)
        ahead = step + NUM_BUFFERS
        if ahead < steps:
            tlx.barrier_expect_bytes(landed[buffer], tile_bytes)
            tlx.async_descriptor_load(
                x_desc, ring[buffer], [source, ahead * BLOCK_N], landed[buffer]
            )

    tlx.async_descriptor_store_wait(0)
