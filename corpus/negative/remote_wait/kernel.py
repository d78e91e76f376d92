"""A CTA can arrive at another one's mbarrier, but wait only for its own."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def remote_wait(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Waits for the barrier of the cluster's first CTA."""
    bars = tlx.alloc_barriers(tl.constexpr(1))
    lane = tl.arange(0, BLOCK)
    first = tlx.remote_view(tlx.local_view(bars, 0), 0)
    tlx.barrier_wait(first, 0)
    tl.store(y_ptr + lane, tl.load(x_ptr + lane))
