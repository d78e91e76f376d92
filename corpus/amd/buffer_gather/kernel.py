"""Rows picked by an index table, through AMD buffer loads with data-dependent offsets."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def buffer_gather(
    table_ptr, index_ptr, out_ptr, count, width, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    """out[i, :] = table[index[i], :] for ``count`` rows of ``width`` elements."""
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    wanted = tlx.buffer_load(index_ptr, rows, mask=rows < count, other=0)
    lane = tl.arange(0, BLOCK_C)
    for first in range(0, width, BLOCK_C):
        columns = first + lane
        inside = (rows < count)[:, None] & (columns < width)[None, :]
        values = tlx.buffer_load(
            table_ptr, wanted[:, None] * width + columns[None, :], mask=inside, other=0
        )
        tlx.buffer_store(values, out_ptr, rows[:, None] * width + columns[None, :], mask=inside)
