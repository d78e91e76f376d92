"""Replicated tasks: several warp groups run the same code, told apart by their replica number."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def replicas(
    x_ptr,
    y_ptr,
    rows,
    n,
    BLOCK: tl.constexpr,
    REPLICAS: tl.constexpr,
    WARPS: tl.constexpr,
):
    """Compute y = x + number of its row in the group of rows; row 0 of a group by the default task.

    A program's group is 1 + REPLICAS rows, and replica r takes the row 1 + r.
    """
    group = tl.program_id(0) * (1 + REPLICAS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for start in range(0, n, BLOCK):
                columns = start + tl.arange(0, BLOCK)
                inside = (columns < n) & (group < rows)
                x = tl.load(x_ptr + group * n + columns, mask=inside, other=0)
                tl.store(y_ptr + group * n + columns, x, mask=inside)
        with tlx.async_task(num_warps=WARPS, replicate=REPLICAS):
            member = 1 + tlx.async_task_replica_id()
            row = group + member
            for start in range(0, n, BLOCK):
                columns = start + tl.arange(0, BLOCK)
                inside = (columns < n) & (row < rows)
                x = tl.load(x_ptr + row * n + columns, mask=inside, other=0)
                tl.store(y_ptr + row * n + columns, x + member, mask=inside)
