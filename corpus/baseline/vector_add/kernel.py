"""Elementwise sum of two vectors: plain Triton, no TLX."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    """Compute z = x + y, rounded once to z's type."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    total = x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offsets, total.to(z_ptr.dtype.element_ty), mask=inside)
