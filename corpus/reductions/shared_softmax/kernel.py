"""Softmax of rows held in shared memory, while the next row is on its way."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def shared_softmax(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr, CHUNKS: tl.constexpr):
    """Compute the softmax of each row of x; ``n`` is at most BLOCK * CHUNKS."""
    chunks = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 2 * CHUNKS)
    offsets = tl.arange(0, BLOCK)
    first = tl.program_id(0)
    stride = tl.num_programs(0)

    # A row is one commit group; two rows have a place, this one and the next.
    for chunk in tl.static_range(CHUNKS):
        columns = chunk * BLOCK + offsets
        tlx.async_load(
            x_ptr + first * n + columns,
            tlx.local_view(chunks, chunk),
            mask=(columns < n) & (first < rows),
        )
    tlx.async_load_commit_group()

    for row in range(first, rows, stride):
        place = ((row - first) // stride) % 2
        following = row + stride
        for chunk in tl.static_range(CHUNKS):
            columns = chunk * BLOCK + offsets
            tlx.async_load(
                x_ptr + following * n + columns,
                tlx.local_view(chunks, (1 - place) * CHUNKS + chunk),
                mask=(columns < n) & (following < rows),
            )
        tlx.async_load_commit_group()
        tlx.async_load_wait_group(1)

        largest = tl.full((BLOCK,), -float("inf"), tl.float32)
        for chunk in tl.static_range(CHUNKS):
            x = tlx.local_load(tlx.local_view(chunks, place * CHUNKS + chunk)).to(tl.float32)
            x = tl.where(chunk * BLOCK + offsets < n, x, -float("inf"))
            largest = tl.maximum(largest, x)
        peak = tl.max(largest, axis=0)

        total = tl.zeros((BLOCK,), tl.float32)
        for chunk in tl.static_range(CHUNKS):
            x = tlx.local_load(tlx.local_view(chunks, place * CHUNKS + chunk)).to(tl.float32)
            total += tl.where(chunk * BLOCK + offsets < n, tl.exp(x - peak), 0.0)
        scale = 1.0 / tl.sum(total, axis=0)

        for chunk in tl.static_range(CHUNKS):
            columns = chunk * BLOCK + offsets
            x = tlx.local_load(tlx.local_view(chunks, place * CHUNKS + chunk)).to(tl.float32)
            y = (tl.exp(x - peak) * scale).to(tlx.dtype_of(y_ptr))
            tl.store(y_ptr + row * n + columns, y, mask=columns < n)
