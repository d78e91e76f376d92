"""Rows gathered through an index, each prefetched some steps before it is loaded."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def prefetch_ahead(
    x_ptr, index_ptr, y_ptr, n, BLOCK: tl.constexpr, AHEAD: tl.constexpr, LEVEL: tl.constexpr
):
    """y[i] = x[index[i]] for rows of BLOCK; program p takes rows p, p + programs, ..."""
    lane = tl.arange(0, BLOCK)
    stride = tl.num_programs(0)
    for row in range(tl.program_id(0), n, stride):
        later = row + AHEAD * stride
        wanted = tl.load(index_ptr + later, mask=later < n, other=0)
        tlx.prefetch(
            x_ptr + wanted * BLOCK + lane, level=LEVEL, mask=(lane % 32 == 0) & (later < n)
        )
        source = tl.load(index_ptr + row)
        tl.store(y_ptr + row * BLOCK + lane, tl.load(x_ptr + source * BLOCK + lane))
