"""Bulk copies of a row's tiles, announced to a barrier by their number of bytes."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def bulk_expect(
    x_ptr, y_ptr, n, BLOCK: tl.constexpr, NUM_BUFFERS: tl.constexpr, BYTES: tl.constexpr
):
    """Negate row ``program_id(0)`` of x; ``BYTES`` is the size of a tile, ``n`` at least BLOCK."""
    ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    empty = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * n
    steps = tl.cdiv(n, BLOCK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(full, slot), lap)
                value = tlx.local_load(tlx.local_view(ring, slot))
                tlx.barrier_arrive(tlx.local_view(empty, slot))
                # The last tile ends where the row ends: a bulk copy cannot be masked. What it
                # shares with the tile before is written twice, with the same values.
                first = tl.minimum(step * BLOCK, n - BLOCK)
                tl.store(y_ptr + row + first + tl.arange(0, BLOCK), -value)
        with tlx.async_task(num_warps=1):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(empty, slot), lap ^ 1)
                tlx.barrier_expect_bytes(tlx.local_view(full, slot), BYTES)
                first = tl.minimum(step * BLOCK, n - BLOCK)
                tlx.async_load(
                    x_ptr + row + first,
                    tlx.local_view(ring, slot),
                    bulk=True,
                    barrier=tlx.local_view(full, slot),
                )
