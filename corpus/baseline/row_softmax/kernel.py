"""Softmax of rows that fit in registers: plain Triton, no TLX."""

import triton
import triton.language as tl


@triton.jit
def row_softmax(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    """Compute the softmax of each row of x; programs stride over the rows."""
    columns = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=-float("inf"))
        x = x.to(tl.float32)
        weights = tl.exp(x - tl.max(x, axis=0))
        y = weights / tl.sum(weights, axis=0)
        tl.store(y_ptr + row * n + columns, y.to(y_ptr.dtype.element_ty), mask=columns < n)
