"""Unpacks scaled fp8 data; all the format's facts are asked of TLX at compile time."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def fp8_unpack(x_ptr, y_ptr, n, BLOCK_BYTES: tl.constexpr, STEPS: tl.constexpr):
    """Y = x / (largest finite value of x's format), BLOCK_BYTES of y at a time."""
    BLOCK: tl.constexpr = BLOCK_BYTES // tlx.size_of(tlx.dtype_of(y_ptr))
    FORMAT: tl.constexpr = tlx.get_fp8_format_name(tlx.dtype_of(x_ptr))
    if FORMAT == "e4m3":
        SCALE: tl.constexpr = 1.0 / 448.0
    else:
        tl.static_assert(FORMAT == "e5m2")
        SCALE: tl.constexpr = 1.0 / 57344.0
    for step in range(STEPS):
        offsets = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + offsets, (x * SCALE).to(tlx.dtype_of(y_ptr)), mask=inside)
