"""Two warp groups take turns on one shared tile, kept in step by named barriers."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def named_alternation(x_ptr, y_ptr, steps, n, BLOCK: tl.constexpr, GROUP_WARPS: tl.constexpr):
    """For each column of x (``steps`` rows of ``n``): a = (a + x) / 2 row after row, a to y.

    One group adds, the other halves: each sees the other's last value, or the result is wrong.
    """
    # A named barrier counts the threads of both groups, those that arrive and those that wait.
    THREADS: tl.constexpr = 2 * GROUP_WARPS * 32
    buffers = tlx.local_alloc((BLOCK,), tl.float32, 1)
    tile = tlx.local_view(buffers, 0)
    columns = tl.program_id(0) * BLOCK

    with tlx.async_tasks():
        with tlx.async_task("default"):
            own = columns + tl.arange(0, BLOCK)
            tlx.local_store(tile, tl.zeros((BLOCK,), tl.float32))
            for step in range(steps):
                x = tl.load(x_ptr + step * n + own, mask=own < n, other=0.0).to(tl.float32)
                tlx.local_store(tile, tlx.local_load(tile) + x)
                tlx.named_barrier_arrive(10, THREADS)
                tlx.named_barrier_wait(11, THREADS)
            tl.store(y_ptr + own, tlx.local_load(tile), mask=own < n)
        with tlx.async_task(num_warps=GROUP_WARPS):
            for _ in range(steps):
                tlx.named_barrier_wait(10, THREADS)
                tlx.local_store(tile, tlx.local_load(tile) * 0.5)
                tlx.named_barrier_arrive(11, THREADS)
