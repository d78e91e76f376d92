"""z = alpha * x + y through AMD buffer loads and stores."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def buffer_axpy(x_ptr, y_ptr, z_ptr, alpha, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Each program walks STEPS neighbouring blocks; the last one is ragged."""
    start = tl.program_id(0) * (BLOCK * STEPS)
    lane = tl.arange(0, BLOCK)
    for step in range(STEPS):
        offsets = start + step * BLOCK + lane
        inside = offsets < n
        x = tlx.buffer_load(x_ptr, offsets, mask=inside, other=0)
        y = tlx.buffer_load(y_ptr, offsets, mask=inside, other=0)
        z = alpha * x.to(tl.float32) + y.to(tl.float32)
        tlx.buffer_store(z.to(tlx.dtype_of(z_ptr)), z_ptr, offsets, mask=inside)
