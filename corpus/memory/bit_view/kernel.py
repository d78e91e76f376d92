"""The bits of floating-point numbers, read through a view of another type of the same buffer."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def bit_view(x_ptr, y_ptr, n, BLOCK: tl.constexpr, RATIO: tl.constexpr):
    """Copy x's memory as integers, RATIO of them to an element of x."""
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 1)
    numbers = tlx.local_view(buffers, 0)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tlx.local_store(numbers, tl.load(x_ptr + columns, mask=columns < n, other=0.0))

    integers = tlx.local_reinterpret(numbers, tlx.dtype_of(y_ptr), [BLOCK * RATIO])
    columns = tl.program_id(0) * BLOCK * RATIO + tl.arange(0, BLOCK * RATIO)
    tl.store(y_ptr + columns, tlx.local_load(integers), mask=columns < n * RATIO)
