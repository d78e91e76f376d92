"""Extremes over the 32 elements held by one warp, with Blackwell's float redux."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def warp_extremes(
    x_ptr, y_ptr, n, WIDTH: tl.constexpr, STEPS: tl.constexpr, OPERATION: tl.constexpr
):
    """y[i] = the largest (or smallest, ...) of i's group of 32; WIDTH is the thread count, so
    that a group is what one warp holds."""
    for step in range(STEPS):
        offsets = (tl.program_id(0) * STEPS + step) * WIDTH + tl.arange(0, WIDTH)
        inside = offsets < n
        # Past the end the last element is read again: it changes no extreme of its group.
        x = tl.load(x_ptr + tl.minimum(offsets, n - 1))
        extreme = tlx.warp_redux(x, OPERATION)
        tl.store(y_ptr + offsets, extreme, mask=inside)
