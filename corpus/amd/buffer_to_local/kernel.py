"""Tiles go straight from memory to LDS by buffer loads, a ring of buffers ahead of their use."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def buffer_to_local(
    x_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr, NUM_BUFFERS: tl.constexpr
):
    """Y = x with neighbouring halves of each block swapped; every program has STEPS full blocks.

    (A mask that cuts through a vector cannot be lowered to a direct load, hence full blocks.)
    """
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    first = tl.program_id(0) * (BLOCK * STEPS)
    lane = tl.arange(0, BLOCK)
    for step in tl.static_range(NUM_BUFFERS - 1):
        token = tlx.buffer_load_to_local(
            tlx.local_view(buffers, step), x_ptr, first + step * BLOCK + lane
        )
        tlx.async_load_commit_group([token])
    for step in range(STEPS):
        ahead = step + NUM_BUFFERS - 1
        # Past the last block the whole block is masked off: one mask value for all lanes.
        token = tlx.buffer_load_to_local(
            tlx.local_view(buffers, ahead % NUM_BUFFERS),
            x_ptr,
            first + ahead * BLOCK + lane,
            mask=tl.full((BLOCK,), 1, tl.int1) & (ahead < STEPS),
        )
        tlx.async_load_commit_group([token])
        ready = tlx.async_load_wait_group(NUM_BUFFERS - 1)
        x = tlx.local_load(tlx.local_view(buffers, step % NUM_BUFFERS), ready)
        swapped = lane ^ (BLOCK // 2)
        tlx.buffer_store(x, y_ptr, first + step * BLOCK + swapped)
