"""A chain of warp groups: one loads, two in turn compute, one stores; registers are requested."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def relay(
    x_ptr,
    y_ptr,
    n,
    BLOCK: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    WARPS: tl.constexpr,
    LIGHT: tl.constexpr,
    HEAVY: tl.constexpr,
):
    """Compute max(x, 0) * 2 + 1 for row ``program_id(0)``; each task hands its tile to the next.

    ``LIGHT`` and ``HEAVY`` are registers per thread of the loading and the computing tasks.
    """
    loaded = tlx.local_alloc((BLOCK,), tl.float32, NUM_BUFFERS)
    clipped = tlx.local_alloc((BLOCK,), tl.float32, NUM_BUFFERS)
    scaled = tlx.local_alloc((BLOCK,), tl.float32, NUM_BUFFERS)
    loaded_full = tlx.alloc_barriers(NUM_BUFFERS)
    loaded_empty = tlx.alloc_barriers(NUM_BUFFERS)
    clipped_full = tlx.alloc_barriers(NUM_BUFFERS)
    clipped_empty = tlx.alloc_barriers(NUM_BUFFERS)
    scaled_full = tlx.alloc_barriers(NUM_BUFFERS)
    scaled_empty = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * n
    steps = tl.cdiv(n, BLOCK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(scaled_full, slot), lap)
                value = tlx.local_load(tlx.local_view(scaled, slot))
                tlx.barrier_arrive(tlx.local_view(scaled_empty, slot))
                columns = step * BLOCK + tl.arange(0, BLOCK)
                tl.store(y_ptr + row + columns, value + 1.0, mask=columns < n)
        with tlx.async_task(num_warps=WARPS, num_regs=HEAVY):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(clipped_full, slot), lap)
                value = tlx.local_load(tlx.local_view(clipped, slot))
                tlx.barrier_arrive(tlx.local_view(clipped_empty, slot))
                tlx.barrier_wait(tlx.local_view(scaled_empty, slot), lap ^ 1)
                tlx.local_store(tlx.local_view(scaled, slot), value * 2.0)
                tlx.barrier_arrive(tlx.local_view(scaled_full, slot))
        with tlx.async_task(num_warps=WARPS, num_regs=HEAVY):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                tlx.barrier_wait(tlx.local_view(loaded_full, slot), lap)
                value = tlx.local_load(tlx.local_view(loaded, slot))
                tlx.barrier_arrive(tlx.local_view(loaded_empty, slot))
                tlx.barrier_wait(tlx.local_view(clipped_empty, slot), lap ^ 1)
                tlx.local_store(tlx.local_view(clipped, slot), tl.maximum(value, 0.0))
                tlx.barrier_arrive(tlx.local_view(clipped_full, slot))
        with tlx.async_task(num_warps=WARPS, num_regs=LIGHT):
            for step in range(steps):
                slot = step % NUM_BUFFERS
                lap = (step // NUM_BUFFERS) & 1
                columns = step * BLOCK + tl.arange(0, BLOCK)
                value = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0)
                tlx.barrier_wait(tlx.local_view(loaded_empty, slot), lap ^ 1)
                tlx.local_store(tlx.local_view(loaded, slot), value)
                tlx.barrier_arrive(tlx.local_view(loaded_full, slot))
