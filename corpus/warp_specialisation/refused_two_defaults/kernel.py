"""Two default tasks in one group, which must be refused: there is one default warp group."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def refused_two_defaults(x_ptr, BLOCK: tl.constexpr):
    """Would store 1 and 2, and 3 by a third task."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x_ptr + tl.arange(0, BLOCK), 1)
        with tlx.async_task("default"):
            tl.store(x_ptr + BLOCK + tl.arange(0, BLOCK), 2)
        with tlx.async_task(num_warps=4):
            tl.store(x_ptr + 2 * BLOCK + tl.arange(0, BLOCK), 3)
