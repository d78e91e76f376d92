"""Hopper has no tensor memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def tmem_before_blackwell(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Parks a tile in tensor memory."""
    tiles = tlx.local_alloc((128, BLOCK), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    offsets = tl.arange(0, 128)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tlx.local_store(tlx.local_view(tiles, 0), tl.load(x_ptr + offsets))
    tl.store(y_ptr + offsets, tlx.local_load(tlx.local_view(tiles, 0)))
