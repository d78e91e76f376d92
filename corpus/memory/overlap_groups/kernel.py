"""A region of shared memory with a layout by reuse groups: one large tile, or two small ones."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def overlap_groups(x_ptr, y_ptr, rows, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Compute y = |transpose of x| + sign of it * 2, tile by tile; x has ``rows`` by ``columns``.

    The float32 tile shares its memory with the pair of a float16 tile of magnitudes and an int8
    tile of signs, which are both needed at once and must not overlap.
    """
    region = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    wholes = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, 1, reuse=region)
    magnitudes = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float16, 1, reuse=region)
    signs = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.int8, 1, reuse=region)
    region.set_buffer_overlap(
        tlx.reuse_group(
            wholes,
            tlx.reuse_group(magnitudes, signs, group_type=tlx.reuse_group_type.distinct),
            group_type=tlx.reuse_group_type.shared,
        )
    )
    whole = tlx.local_view(wholes, 0)
    magnitude = tlx.local_view(magnitudes, 0)
    sign = tlx.local_view(signs, 0)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)

    for start in range(0, columns, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        inside = (m[:, None] < rows) & (n[None, :] < columns)
        x = tl.load(x_ptr + m[:, None] * columns + n[None, :], mask=inside, other=0.0)
        tlx.local_store(whole, x.to(tl.float32))
        value = tlx.local_load(whole)
        tlx.local_store(magnitude, tl.abs(value).to(tl.float16))
        tlx.local_store(sign, (value > 0).to(tl.int8) - (value < 0).to(tl.int8))
        large = tlx.local_load(tlx.local_trans(magnitude)).to(tl.float32)
        small = tlx.local_load(tlx.local_trans(sign)).to(tl.float32)
        inside = (n[:, None] < columns) & (m[None, :] < rows)
        tl.store(y_ptr + n[:, None] * rows + m[None, :], large + 2.0 * small, mask=inside)
