"""A ring of shared-memory buffers filled by cp.async, drained one step behind."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def ring_copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, NUM_BUFFERS: tl.constexpr):
    """Copy row ``program_id(0)`` of x, ``n`` elements long, adding one."""
    buffers = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n

    # Prologue: one commit group for each buffer but the last.
    for step in tl.static_range(NUM_BUFFERS - 1):
        columns = step * BLOCK + offsets
        token = tlx.async_load(
            x_ptr + row + columns, tlx.local_view(buffers, step), mask=columns < n
        )
        tlx.async_load_commit_group([token])

    for step in range(tl.cdiv(n, BLOCK)):
        ahead = step + NUM_BUFFERS - 1
        columns = ahead * BLOCK + offsets
        token = tlx.async_load(
            x_ptr + row + columns, tlx.local_view(buffers, ahead % NUM_BUFFERS), mask=columns < n
        )
        tlx.async_load_commit_group([token])
        # All but the newest NUM_BUFFERS - 1 groups have landed: this step's among them.
        tlx.async_load_wait_group(NUM_BUFFERS - 1)
        value = tlx.local_load(tlx.local_view(buffers, step % NUM_BUFFERS))
        columns = step * BLOCK + offsets
        tl.store(y_ptr + row + columns, value + 1, mask=columns < n)
