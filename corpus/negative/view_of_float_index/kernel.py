"""A buffer index must be an integer."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def view_of_float_index(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Takes the view of a buffer whose number is a float."""
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(2))
    lane = tl.arange(0, BLOCK)
    tlx.local_store(tlx.local_view(buffers, 1), tl.load(x_ptr + lane))
    which = tl.program_id(0).to(tl.float32) + 0.5
    tl.store(y_ptr + lane, tlx.local_load(tlx.local_view(buffers, which)))
