"""The four quadrants of a shared tile, read through slices of it and added up."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def quadrant_sum(x_ptr, y_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Fold each tile of x twice: y's tile, a quarter of the size, is the sum of its quadrants."""
    HALF_M: tl.constexpr = BLOCK_M // 2
    HALF_N: tl.constexpr = BLOCK_N // 2
    buffers = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1)
    tile = tlx.local_view(buffers, 0)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    x = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside, other=0)
    tlx.local_store(tile, x)

    total = tl.zeros((HALF_M, HALF_N), y_ptr.dtype.element_ty)
    for below in tl.static_range(2):
        for right in tl.static_range(2):
            part = tlx.local_slice(tile, [below * HALF_M, right * HALF_N], [HALF_M, HALF_N])
            total += tlx.local_load(part).to(y_ptr.dtype.element_ty)

    m = tl.program_id(0) * HALF_M + tl.arange(0, HALF_M)
    n = tl.program_id(1) * HALF_N + tl.arange(0, HALF_N)
    stride = tl.num_programs(1) * HALF_N
    tl.store(y_ptr + m[:, None] * stride + n[None, :], total)
