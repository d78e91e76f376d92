"""A row maximum without any exchange between threads: the layout gives each thread its row."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx

# Tiles are (number of threads) x 32, row-major; thread t holds row t, all 32 columns.
ROW_PER_THREAD_32X4 = tl.constexpr(tlx.layout(shape=((32, 4), (32,)), stride=((32, 1024), (1,))))
ROW_PER_THREAD_64X4 = tl.constexpr(tlx.layout(shape=((64, 4), (32,)), stride=((32, 2048), (1,))))


@triton.jit
def pinned_rows(x_ptr, y_ptr, rows, BLOCK_R: tl.constexpr, STEPS: tl.constexpr):
    """Y = x - (the maximum of x's row), rows of 32."""
    buffers = tlx.local_alloc((BLOCK_R, 32), tlx.dtype_of(x_ptr), tl.constexpr(2))
    columns = tl.arange(0, 32)
    for step in range(STEPS):
        row = (tl.program_id(0) * STEPS + step) * BLOCK_R + tl.arange(0, BLOCK_R)
        offsets = row[:, None] * 32 + columns[None, :]
        inside = (row < rows)[:, None]
        buffer = tlx.local_view(buffers, step % 2)
        tlx.local_store(buffer, tl.load(x_ptr + offsets, mask=inside, other=0.0))
        if BLOCK_R == 128:
            x = tlx.local_load(buffer, layout=ROW_PER_THREAD_32X4)
            tlx.assert_same_layout(x, ROW_PER_THREAD_32X4)
        else:
            x = tlx.local_load(buffer, layout=ROW_PER_THREAD_64X4)
            tlx.assert_same_layout(x, ROW_PER_THREAD_64X4)
        largest = tl.max(x.to(tl.float32), axis=1)
        y = x.to(tl.float32) - largest[:, None]
        tl.store(y_ptr + offsets, y, mask=inside)
