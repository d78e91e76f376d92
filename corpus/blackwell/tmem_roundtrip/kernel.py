"""Values pass through tensor memory: registers to TMEM and back, twice, in two buffers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def tmem_roundtrip(x_ptr, y_ptr, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Y = 2 * x + (x with its columns walked one block behind), tile by tile along a row of tiles.

    Tile ``step`` is parked in one TMEM buffer while the tile before it is read from the
    other, so a buffer index or a wait that is off by one mixes up neighbouring tiles.
    """
    tiles = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(2), tlx.storage_kind.tmem)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside_rows = (rows < m)[:, None]
    lane = tl.arange(0, BLOCK_N)

    # The tile "before" the first one is zero.
    tlx.local_store(tlx.local_view(tiles, 1), tl.zeros((BLOCK_M, BLOCK_N), tl.float32))

    for step in range(tl.cdiv(n, BLOCK_N)):
        columns = step * BLOCK_N + lane
        offsets = rows[:, None] * n + columns[None, :]
        mask = inside_rows & (columns < n)[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        here = tlx.local_view(tiles, step % 2)
        tlx.local_store(here, x)
        previous = tlx.local_load(tlx.local_view(tiles, (step + 1) % 2))
        again = tlx.local_load(here)
        y = x + again + previous
        tl.store(y_ptr + offsets, y.to(tlx.dtype_of(y_ptr)), mask=mask)
