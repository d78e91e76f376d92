"""A register layout asked for by shape and stride, so that each thread owns whole rows."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def required_layout(x_ptr, y_ptr, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Running sums along the COLUMNS of each row of x, with a row to a thread (128 threads).

    The layout is (thread, value): threads stride by a row, values by an element.
    """
    layout: tl.constexpr = tlx.layout(
        shape=((32, ROWS // 32), (COLUMNS,)), stride=((COLUMNS, 32 * COLUMNS), (1,))
    )
    buffers = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1)
    tile = tlx.local_view(buffers, 0)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    n = tl.arange(0, COLUMNS)
    inside = m[:, None] < rows
    x = tl.load(x_ptr + m[:, None] * COLUMNS + n[None, :], mask=inside, other=0.0)
    tlx.local_store(tile, x)
    owned = tlx.require_layout(tlx.local_load(tile), layout)
    sums = tl.cumsum(owned, axis=1)
    tl.store(y_ptr + m[:, None] * COLUMNS + n[None, :], sums, mask=inside)
