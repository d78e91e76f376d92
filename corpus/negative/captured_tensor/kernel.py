"""Async tasks may not share register tensors: every thread of a task has its own registers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def captured_tensor(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Uses a range made outside the async tasks in both of them."""
    lane = tl.arange(0, BLOCK)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(y_ptr + lane, tl.load(x_ptr + lane))
        with tlx.async_task(num_warps=4):
            tl.store(y_ptr + BLOCK + lane, tl.load(x_ptr + BLOCK + lane))
