"""A dot whose inner dimensions differ."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def dot_shape_mismatch(x_ptr, y_ptr, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    """A is [BLOCK_M, BLOCK_K], b [2 * BLOCK_K, BLOCK_M]."""
    a = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(x_ptr), tl.constexpr(1))
    b = tlx.local_alloc((2 * BLOCK_K, BLOCK_M), tlx.dtype_of(x_ptr), tl.constexpr(1))
    total = tl.zeros((BLOCK_M, BLOCK_M), tl.float32)
    total = tlx.async_dot(tlx.local_view(a, 0), tlx.local_view(b, 0), total)
    total = tlx.async_dot_wait(0, total)
    lane = tl.arange(0, BLOCK_M)
    tl.store(y_ptr + lane[:, None] * BLOCK_M + lane[None, :], total)
