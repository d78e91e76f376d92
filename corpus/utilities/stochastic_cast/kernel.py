"""float32 to a narrow type with hardware stochastic rounding."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def stochastic_cast(x_ptr, bits_ptr, y_ptr, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Y = x rounded up or down to y's type, by the random bits given for each element."""
    first = tl.program_id(0) * (BLOCK * STEPS)
    for step in range(STEPS):
        offsets = first + step * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
        bits = tl.load(bits_ptr + offsets, mask=inside, other=0).to(tl.uint32, bitcast=True)
        y = tlx.stoch_round(x, tlx.dtype_of(y_ptr), bits)
        tl.store(y_ptr + offsets, y, mask=inside)
