"""Two buffers of different types that take turns in one region of shared memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def time_shared(
    x_ptr,
    w_ptr,
    y_ptr,
    z_ptr,
    rows,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BYTES: tl.constexpr,
):
    """Compute y = transpose of x, z = transpose of w (``rows`` by BLOCK_N each), tile after tile.

    ``BYTES`` is the size of the region, or 0 for as much as the larger buffer needs.
    """
    if BYTES == 0:
        region = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    else:
        region = tlx.storage_alias_spec(storage=tlx.storage_kind.smem, buffer_size_bytes=BYTES)
    x_tiles = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1, reuse=region)
    w_tiles = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(w_ptr), 1, reuse=region)
    x_tile = tlx.local_view(x_tiles, 0)
    w_tile = tlx.local_view(w_tiles, 0)
    n = tl.arange(0, BLOCK_N)

    for start in range(tl.program_id(0) * BLOCK_M, rows, tl.num_programs(0) * BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        source = m[:, None] * BLOCK_N + n[None, :]
        target = n[:, None] * rows + m[None, :]
        tlx.local_store(x_tile, tl.load(x_ptr + source, mask=m[:, None] < rows, other=0))
        tl.store(y_ptr + target, tlx.local_load(tlx.local_trans(x_tile)), mask=m[None, :] < rows)
        tlx.local_store(w_tile, tl.load(w_ptr + source, mask=m[:, None] < rows, other=0))
        tl.store(z_ptr + target, tlx.local_load(tlx.local_trans(w_tile)), mask=m[None, :] < rows)
