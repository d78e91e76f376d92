"""Replicated async tasks share one program's rows between them."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def replica_copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, REPLICAS: tl.constexpr):
    """y[p] = 2 * x[p] for replicas (blocks 0, 1, ... dealt in turn); the default task only negates
    the last, ragged block, into the second row of y."""
    row = tl.program_id(0) * n
    blocks = tl.cdiv(n, BLOCK)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            columns = (blocks - 1) * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0)
            tl.store(y_ptr + 2 * row + n + columns, -x, mask=columns < n)
            # The rest of the second row is zero.
            for block in range(blocks - 1):
                columns = block * BLOCK + tl.arange(0, BLOCK)
                zeros = tl.zeros((BLOCK,), tlx.dtype_of(y_ptr))
                tl.store(y_ptr + 2 * row + n + columns, zeros)
        with tlx.async_task(num_warps=4, replicate=REPLICAS):
            replica = tlx.async_task_replica_id()
            for block in range(replica, blocks, REPLICAS):
                columns = block * BLOCK + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0)
                tl.store(y_ptr + 2 * row + columns, 2 * x, mask=columns < n)
