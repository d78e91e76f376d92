"""Each element of a block says which thread holds it."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def thread_ids(y_ptr, WIDTH: tl.constexpr, AXIS: tl.constexpr):
    """y[p, i] = 1000 * p + the index along AXIS of the thread that holds element i."""
    lane = tl.arange(0, WIDTH)
    held_by = tl.zeros((WIDTH,), tl.int32) + tlx.thread_id(AXIS)
    program = tl.program_id(0)
    tl.store(y_ptr + program * WIDTH + lane, 1000 * program + held_by)
