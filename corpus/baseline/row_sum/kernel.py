"""Sums of rows: a loop over tiles, then a reduction across threads. Plain Triton, no TLX."""

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Compute y[row] = sum of the row's ``n`` elements."""
    row = tl.program_id(0)
    partial = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
        partial += x.to(tl.float32)
    tl.store(y_ptr + row, tl.sum(partial, axis=0))
