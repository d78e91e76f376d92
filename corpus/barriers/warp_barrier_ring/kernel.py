"""A ring whose barriers count every thread: arrivals need no synchronisation of the warps."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def warp_barrier_ring(
    x_ptr,
    y_ptr,
    n,
    BLOCK: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    WARPS: tl.constexpr,
    ARRIVALS: tl.constexpr,
):
    """Compute y = x * x + x for row ``program_id(0)``; both groups have ``WARPS`` warps.

    With ``ARRIVALS`` 2, a tile has two halves, and its barrier is arrived at after each.
    """
    HALF: tl.constexpr = BLOCK // ARRIVALS
    ring = tlx.local_alloc((HALF,), tlx.dtype_of(x_ptr), NUM_BUFFERS * ARRIVALS)
    full = tlx.alloc_warp_barrier(NUM_BUFFERS, num_warps=WARPS, num_arrivals=ARRIVALS)
    empty = tlx.alloc_warp_barrier(NUM_BUFFERS, num_warps=WARPS, num_arrivals=ARRIVALS)
    row = tl.program_id(0) * n
    steps = tl.cdiv(n, BLOCK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(full, slot), lap)
                for part in tl.static_range(ARRIVALS):
                    value = tlx.local_load(tlx.local_view(ring, slot * ARRIVALS + part))
                    tlx.barrier_arrive(tlx.local_view(empty, slot))
                    columns = step * BLOCK + part * HALF + tl.arange(0, HALF)
                    tl.store(y_ptr + row + columns, value * value + value, mask=columns < n)
        with tlx.async_task(num_warps=WARPS):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(empty, slot), lap ^ 1)
                for part in tl.static_range(ARRIVALS):
                    columns = step * BLOCK + part * HALF + tl.arange(0, HALF)
                    value = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0)
                    tlx.local_store(tlx.local_view(ring, slot * ARRIVALS + part), value)
                    tlx.barrier_arrive(tlx.local_view(full, slot))
