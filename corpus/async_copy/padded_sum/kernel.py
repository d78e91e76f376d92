"""Sums of ragged rows: the async copy fills what lies behind the end of a row."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def padded_sum(x_ptr, y_ptr, n, FILL: tl.constexpr, BLOCK: tl.constexpr, NUM_BUFFERS: tl.constexpr):
    """Sum each row's ``n`` elements, and FILL for each that the last tile lacks."""
    ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), NUM_BUFFERS)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    steps = tl.cdiv(n, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)

    for step in tl.static_range(NUM_BUFFERS - 1):
        columns = step * BLOCK + offsets
        token = tlx.async_load(
            x_ptr + row + columns, tlx.local_view(ring, step), mask=columns < n, other=FILL
        )
        tlx.async_load_commit_group([token])

    for step in range(steps):
        ahead = step + NUM_BUFFERS - 1
        columns = ahead * BLOCK + offsets
        token = tlx.async_load(
            x_ptr + row + columns,
            tlx.local_view(ring, ahead % NUM_BUFFERS),
            mask=columns < n,
            other=FILL,
        )
        tlx.async_load_commit_group([token])
        tlx.async_load_wait_group(NUM_BUFFERS - 1)
        total += tlx.local_load(tlx.local_view(ring, step % NUM_BUFFERS)).to(tl.float32)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, axis=0))
