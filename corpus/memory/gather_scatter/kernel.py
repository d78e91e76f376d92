"""Permutation of a vector in shared memory, by a gather and by a scatter."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def gather_scatter(
    x_ptr, gathered_ptr, scattered_ptr, n, BLOCK: tl.constexpr, STRIDE: tl.constexpr
):
    """Compute gathered[i] = x[p(i)] and scattered[p(i)] = x[i], within blocks of BLOCK elements.

    p(i) = (i * STRIDE + 3) mod BLOCK is a permutation, as STRIDE is odd and BLOCK a power of 2;
    ``n`` is a multiple of BLOCK.
    """
    values = tlx.local_view(tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 1), 0)
    result = tlx.local_view(tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 1), 0)
    within = tl.arange(0, BLOCK)
    places = (within * STRIDE + 3) % BLOCK
    columns = tl.program_id(0) * BLOCK + within
    inside = columns < n
    x = tl.load(x_ptr + columns, mask=inside)
    tlx.local_store(values, x)
    tl.store(gathered_ptr + columns, tlx.local_gather(values, places, 0), mask=inside)
    tlx.local_scatter(result, x, places, 0)
    tl.store(scattered_ptr + columns, tlx.local_load(result), mask=inside)
