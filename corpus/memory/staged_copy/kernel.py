"""A delay line in shared memory: each tile is stored, and loaded again some steps later."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def staged_copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, NUM_BUFFERS: tl.constexpr):
    """Copy row ``program_id(0)`` of x, ``n`` elements long, through a ring of buffers."""
    ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    delay: tl.constexpr = NUM_BUFFERS - 1

    for step in range(tl.cdiv(n, BLOCK) + delay):
        columns = step * BLOCK + offsets
        value = tl.load(x_ptr + row + columns, mask=columns < n)
        tlx.local_store(tlx.local_view(ring, step % NUM_BUFFERS), value)

        # The next slot of the ring holds the oldest tile: the one of ``delay`` steps ago. In the
        # first ``delay`` steps it holds nothing yet, and the store is masked off.
        columns = (step - delay) * BLOCK + offsets
        delayed = tlx.local_load(tlx.local_view(ring, (step + 1) % NUM_BUFFERS))
        tl.store(y_ptr + row + columns, delayed, mask=(columns >= 0) & (columns < n))
