"""Matrix transpose through a transposed view of a shared-memory tile."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def transposed_view(x_ptr, y_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Write the transpose of x (``rows`` by ``columns``) to y, one tile per program."""
    buffers = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1)
    tile = tlx.local_view(buffers, 0)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)

    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tlx.local_store(tile, tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside))

    # Same bytes, dimensions exchanged: both the load and the store of global memory run along
    # contiguous addresses.
    flipped = tlx.local_load(tlx.local_trans(tile))
    inside = (n[:, None] < columns) & (m[None, :] < rows)
    tl.store(y_ptr + n[:, None] * rows + m[None, :], flipped, mask=inside)
