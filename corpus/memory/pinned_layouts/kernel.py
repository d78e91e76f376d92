"""Transposes through buffers whose shared-memory layout the kernel states itself."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pinned_layouts(
    x_ptr,
    y_ptr,
    rows,
    columns,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    LAYOUT: tl.constexpr,
):
    """Write the transpose of x to y; ``LAYOUT`` names the layout of the tile.

    "padded" adds 8 elements after every row, "swizzled" permutes groups of 8 elements within a
    row by its number, "plain" does neither. "cute" and "wgmma" are the same permutation as CuTe's
    Swizzle<3, 3, 3> and as what Hopper's tensor cores read.
    """
    if LAYOUT == "padded":
        layout: tl.constexpr = tlx.padded_shared_layout_encoding.with_identity_for(
            [[BLOCK_N, 8]], [BLOCK_M, BLOCK_N], [1, 0]
        )
    elif LAYOUT == "swizzled":
        layout: tl.constexpr = tlx.swizzled_shared_layout_encoding(
            8, 1, 8, [1, 0], [1, 1], [1, 1], [1, 1], [1, 0]
        )
    elif LAYOUT == "cute":
        layout: tl.constexpr = tlx.swizzled_layout(3, 3, 3)
    elif LAYOUT == "wgmma":
        layout: tl.constexpr = tlx.nv_mma_shared_layout_encoding(
            [BLOCK_M, BLOCK_N],
            [1, 0],
            tlx.dtype_of(x_ptr),
            [1, 1],
            [1, 1],
            [1, 0],
            False,
            True,
        )
    else:
        layout: tl.constexpr = tlx.swizzled_shared_layout_encoding(
            1, 1, 1, [1, 0], [1, 1], [1, 1], [1, 1], [1, 0]
        )
    buffers = tlx.local_alloc(
        (BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1, tlx.storage_kind.smem, layout=layout
    )
    tile = tlx.local_view(buffers, 0)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (m[:, None] < rows) & (n[None, :] < columns)
    tlx.local_store(tile, tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside))
    flipped = tl.trans(tlx.local_load(tile))
    inside = (n[:, None] < columns) & (m[None, :] < rows)
    tl.store(y_ptr + n[:, None] * rows + m[None, :], flipped, mask=inside)
