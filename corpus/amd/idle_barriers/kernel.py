"""Barriers that are initialised and then left alone, beside a buffer in use."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def idle_barriers(x_ptr, y_ptr, n, BLOCK: tl.constexpr, BARRIERS: tl.constexpr):
    """Y = x reversed within each tile of BLOCK, by way of shared memory."""
    tlx.alloc_barriers(BARRIERS)
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(1))
    buffer = tlx.local_view(buffers, 0)
    lane = tl.arange(0, BLOCK)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        x = tl.load(x_ptr + first + lane, mask=first + lane < n, other=0)
        tlx.local_store(buffer, x)
        mirrored = first + BLOCK - 1 - lane
        tl.store(y_ptr + mirrored, tlx.local_load(buffer), mask=first + lane < n)
