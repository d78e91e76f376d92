"""There is no fence for a cluster."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def wrong_fence_scope(x_ptr, y_ptr, BLOCK: tl.constexpr, SCOPE: tl.constexpr):
    """Copies, with a fence whose scope is none of gpu, sys and async_shared."""
    lane = tl.arange(0, BLOCK)
    tl.store(y_ptr + lane, tl.load(x_ptr + lane))
    tlx.fence(SCOPE)
