"""The result of a dot is put into a hand-made register layout before it is stored."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

# A 64 x 64 tile, row-major, on 4 waves of 64: a thread holds 8 neighbouring columns, 8 threads
# make a row, a wave holds 8 rows at a time and comes round twice, 32 rows further down.
ROWS_OF_EIGHT = tl.constexpr(
    tlx.layout(shape=((8, 8, 4), (8, 2)), stride=((8, 64, 512), (1, 2048)))
)


@triton.jit
def pinned_store(a_ptr, b_ptr, c_ptr, k, BLOCK_K: tl.constexpr):
    """C = a @ b for one 64 x 64 tile per program: a is [p, 64, k], b is [k, 64]."""
    program = tl.program_id(0)
    rows = tl.arange(0, 64)
    columns = tl.arange(0, 64)
    inner = tl.arange(0, BLOCK_K)
    a_rows = a_ptr + (program * 64 + rows)[:, None] * k
    total = tl.zeros((64, 64), tl.float32)
    for first in range(0, k, BLOCK_K):
        left = k - first
        a = tl.load(a_rows + first + inner[None, :], mask=(inner < left)[None, :], other=0.0)
        b = tl.load(
            b_ptr + (first + inner)[:, None] * 64 + columns[None, :],
            mask=(inner < left)[:, None],
            other=0.0,
        )
        total = tl.dot(a, b, total)
    c = tlx.require_layout(total.to(tlx.dtype_of(c_ptr)), ROWS_OF_EIGHT)
    tlx.assert_same_layout(c, ROWS_OF_EIGHT)
    tl.store(c_ptr + (program * 64 + rows)[:, None] * 64 + columns[None, :], c)
