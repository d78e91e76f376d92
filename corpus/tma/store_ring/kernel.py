"""Tiles copied by TMA alone: loaded into a ring of buffers and stored from where they landed."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def store_ring(
    x_desc,
    y_desc,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    PENDING: tl.constexpr,
):
    """Copy the rows of block ``program_id(0)``, at most PENDING stores still reading."""
    tile_bytes: tl.constexpr = BLOCK_M * BLOCK_N * tlx.size_of(tlx.dtype_of(x_desc))
    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_desc), NUM_BUFFERS)
    landed = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * BLOCK_M
    steps = tl.cdiv(N, BLOCK_N)

    # A store may read its buffer for PENDING steps after its issue, so loads run that much less
    # far ahead than there are buffers.
    for step in tl.static_range(NUM_BUFFERS - PENDING):
        if step < steps:
            # The part of a tile beyond the tensor is filled with zeros and counts as bytes.
            tlx.barrier_expect_bytes(landed[step], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[step], [row, step * BLOCK_N], landed[step])

    for step in range(steps):
        buffer = step % NUM_BUFFERS
        tlx.barrier_wait(landed[buffer], (step // NUM_BUFFERS) & 1)
        tlx.async_descriptor_store(y_desc, ring[buffer], [row, step * BLOCK_N])
        # The store of step - PENDING has read its buffer, which is the next to be filled.
        tlx.async_descriptor_store_wait(PENDING)
        ahead = step + NUM_BUFFERS - PENDING
        if ahead < steps:
            target = ahead % NUM_BUFFERS
            tlx.barrier_expect_bytes(landed[target], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[target], [row, ahead * BLOCK_N], landed[target])

    # Shared memory must outlive the reads of the last stores.
    tlx.async_descriptor_store_wait(0)
