"""One buffer that is filled, drained and filled again: no copy may start before the last read."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def single_buffer(x_ptr, y_ptr, rows, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Write the transpose of x (``rows`` by ``n``) to y, a column of tiles per program."""
    buffers = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1)
    tile = tlx.local_view(buffers, 0)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)

    for start in range(0, rows, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        inside = (m[:, None] < rows) & (columns[None, :] < n)
        token = tlx.async_load(x_ptr + m[:, None] * n + columns[None, :], tile, mask=inside)
        tlx.async_load_commit_group([token])
        tlx.async_load_wait_group(0)
        # Every element goes to another thread than the one that copied it.
        flipped = tlx.local_load(tlx.local_trans(tile))
        inside = (columns[:, None] < n) & (m[None, :] < rows)
        tl.store(y_ptr + columns[:, None] * rows + m[None, :], flipped, mask=inside)
