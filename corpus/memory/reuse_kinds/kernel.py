"""A kind of sharing between buffers, as the compiler names it."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def reuse_kinds(x_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Y = x by way of shared memory, BLOCK elements at a time."""
    tlx.reuse_group_ir_type(tlx.reuse_group_type.shared)
    buffer = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(1))
    for step in range(STEPS):
        offsets = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        tlx.local_store(tlx.local_view(buffer, 0), tl.load(x_ptr + offsets))
        tl.store(y_ptr + offsets, tlx.local_load(tlx.local_view(buffer, 0)))
