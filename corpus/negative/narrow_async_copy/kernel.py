"""cp.async moves 4 bytes at least, but nothing says that two halves lie side by side."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def narrow_async_copy(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    """Y = every ``stride``-th element of x."""
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(1))
    lane = tl.arange(0, BLOCK)
    token = tlx.async_load(x_ptr + lane * stride, tlx.local_view(buffers, 0))
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    tl.store(y_ptr + lane, tlx.local_load(tlx.local_view(buffers, 0)))
