"""Scales blocks in registers and sends them out through shared memory with bulk stores."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def fenced_bulk_store(
    x_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr, OLD_NAME: tl.constexpr
):
    """Y is x with its blocks of BLOCK elements each scaled by its number, from 1 up.

    Two staging buffers: a buffer is written again only once its bulk store has read it.
    """
    staging = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(2))
    first = tl.program_id(0) * (BLOCK * STEPS)
    lane = tl.arange(0, BLOCK)
    size: tl.constexpr = BLOCK * tlx.size_of(tlx.dtype_of(x_ptr))
    for step in range(STEPS):
        x = tl.load(x_ptr + first + step * BLOCK + lane)
        buffer = tlx.local_view(staging, step % 2)
        # The store of step - 2 read this buffer; at most step - 1's may still run.
        tlx.async_descriptor_store_wait(1)
        tlx.local_store(buffer, (x * (step + 1)).to(tlx.dtype_of(x_ptr)))
        # Generic-proxy writes, then an async-proxy read.
        if OLD_NAME:
            tlx.fence_async_shared()
        else:
            tlx.fence("async_shared")
        tlx.async_store(y_ptr + first + step * BLOCK, buffer, size)
    tlx.async_descriptor_store_wait(0)
