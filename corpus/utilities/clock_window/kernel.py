"""Times a dependent chain of multiply-adds with the cycle counter."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def clock_window(x_ptr, y_ptr, order_ptr, n, BLOCK: tl.constexpr, CHAIN: tl.constexpr):
    """Y = x through CHAIN steps of 0.5 * y + 1; order[p] is 1 if time moved forward, else 0.

    The elapsed count itself differs from run to run, so only its sign is stored.
    """
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    before = tlx.clock64()
    y = x
    for _ in range(CHAIN):
        y = 0.5 * y + 1.0
    tl.store(y_ptr + offsets, y, mask=offsets < n)
    after = tlx.clock64()
    tl.store(order_ptr + tl.program_id(0), (after > before).to(tl.int32))
