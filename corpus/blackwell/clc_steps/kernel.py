"""Cluster launch control step by step, without the context that clc_producer and clc_consumer
keep."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def clc_steps(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Y = 2 * x, one tile of BLOCK elements per program of the grid, launched or taken over."""
    responses = tlx._alloc_clc_responses(tl.constexpr(1))
    answered = tlx.alloc_barriers(tl.constexpr(1))
    tile = tl.program_id(0)
    phase = 0
    while tile != -1:
        # Ask for the next tile, then work on this one.
        tlx.barrier_expect_bytes(tlx.local_view(answered, 0), tl.constexpr(16))
        tlx._clc_issue(tlx.local_view(responses, 0), tlx.local_view(answered, 0))
        offsets = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        tl.store(y_ptr + offsets, 2.0 * x, mask=offsets < n)
        tlx.barrier_wait(tlx.local_view(answered, 0), phase)
        tile, _, _ = tlx._clc_query(tlx.local_view(responses, 0))
        # The next request writes where this answer was read.
        tlx.fence("async_shared")
        phase ^= 1
