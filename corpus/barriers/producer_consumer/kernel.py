"""Producer and consumer warps around a ring of buffers with full and empty mbarriers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def producer_consumer(
    x_ptr,
    y_ptr,
    scale,
    n,
    BLOCK: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    PRODUCER_WARPS: tl.constexpr,
):
    """Scale row ``program_id(0)`` of x, ``n`` elements long, into y."""
    ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    full = tlx.alloc_barriers(NUM_BUFFERS)
    empty = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * n
    steps = tl.cdiv(n, BLOCK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                # A barrier's phase flips each time it completes: once per lap of the ring.
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(full, slot), lap)
                value = tlx.local_load(tlx.local_view(ring, slot))
                tlx.barrier_arrive(tlx.local_view(empty, slot))
                columns = step * BLOCK + tl.arange(0, BLOCK)
                scaled = (value * scale).to(tlx.dtype_of(y_ptr))
                tl.store(y_ptr + row + columns, scaled, mask=columns < n)
        with tlx.async_task(num_warps=PRODUCER_WARPS):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                columns = step * BLOCK + tl.arange(0, BLOCK)
                value = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0)
                # In the first lap the slots are free: waiting for the phase before the first
                # one returns at once.
                tlx.barrier_wait(tlx.local_view(empty, slot), lap ^ 1)
                tlx.local_store(tlx.local_view(ring, slot), value)
                tlx.barrier_arrive(tlx.local_view(full, slot))
