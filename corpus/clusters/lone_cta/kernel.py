"""A CTA that is launched without a cluster is a cluster of its own."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def lone_cta(x_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Y = x, each tile moved by the CTA's rank in its cluster: by nothing."""
    rank = tlx.cluster_cta_rank()
    for step in range(STEPS):
        first = (tl.program_id(0) * STEPS + step) * BLOCK
        x = tl.load(x_ptr + first + tl.arange(0, BLOCK))
        tl.store(y_ptr + first + rank * BLOCK + tl.arange(0, BLOCK), x)
