"""Blackwell's tensor cores take no operand from registers, Hopper's only the left one."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def dot_operand_in_registers(x_ptr, y_ptr, BLOCK: tl.constexpr, LEFT: tl.constexpr):
    """The left or the right operand is a register tensor."""
    lane = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane[:, None] * BLOCK + lane[None, :])
    tiles = tlx.local_alloc((BLOCK, BLOCK), tlx.dtype_of(x_ptr), tl.constexpr(1))
    tile = tlx.local_view(tiles, 0)
    tlx.local_store(tile, x)
    tlx.fence("async_shared")
    if LEFT:
        sums = tlx.local_alloc((BLOCK, BLOCK), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
        tlx.async_dot(x, tile, tlx.local_view(sums, 0), use_acc=False)
        total = tlx.local_load(tlx.local_view(sums, 0))
    else:
        total = tlx.async_dot(tile, x, tl.zeros((BLOCK, BLOCK), tl.float32))
        total = tlx.async_dot_wait(0, total)
    tl.store(y_ptr + lane[:, None] * BLOCK + lane[None, :], total)
