"""Quantisation to MX fp8: a shared e8m0 exponent for every 32 elements."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def mxfp8_quantise(x_ptr, q_ptr, scale_ptr, RETURNED: tl.constexpr, E4M3: tl.constexpr):
    """Q (128 x 128, fp8) and its scales (128 x 4, e8m0) of one tile of x per program.

    RETURNED: _to_mxfp8_block returns both (as the fork has it); otherwise it stores them into
    shared memory (as the plugin has it).
    """
    FORMAT: tl.constexpr = tl.float8e4nv if E4M3 else tl.float8e5
    program = tl.program_id(0)
    rows = tl.arange(0, 128)
    tile = rows[:, None] * 128 + rows[None, :]
    groups = rows[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + program * 128 * 128 + tile)
    if RETURNED:
        q, scales = tlx._to_mxfp8_block(x, 32, FORMAT)
    else:
        q_tile = tlx.local_alloc((128, 128), FORMAT, tl.constexpr(1))
        scale_tile = tlx.local_alloc((128, 4), tl.uint8, tl.constexpr(1))
        tlx._to_mxfp8_block(x, tlx.local_view(q_tile, 0), tlx.local_view(scale_tile, 0), 32, FORMAT)
        q = tlx.local_load(tlx.local_view(q_tile, 0))
        scales = tlx.local_load(tlx.local_view(scale_tile, 0))
    tl.store(q_ptr + program * 128 * 128 + tile, q)
    tl.store(scale_ptr + program * 128 * 4 + groups, scales)
