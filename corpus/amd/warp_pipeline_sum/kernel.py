"""Row sums in a loop of two stages, which the warps of a SIMD take in turns."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def warp_pipeline_sum(x_ptr, y_ptr, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """y[m] = the sum of row m of x, n elements long; ROWS of them per program."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in tl.range(0, n, BLOCK):
        with tlx.warp_pipeline_stage("read", priority=1):
            inside = first + columns < n
            x = tl.load(
                x_ptr + rows[:, None] * n + (first + columns)[None, :],
                mask=inside[None, :],
                other=0.0,
            )
        with tlx.warp_pipeline_stage("add", priority=0):
            total += x.to(tl.float32)
    tl.store(y_ptr + rows, tl.sum(total, axis=1))
