"""Two independent warp groups that read values computed before they part."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def two_tasks(x_ptr, low_ptr, high_ptr, slope, n, BLOCK: tl.constexpr, WARPS: tl.constexpr):
    """Compute low = slope * x + bias on one warp group, high = slope * x - bias on the other.

    ``bias`` is the number of the program: pointers, a float and integers are captured.
    """
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    bias = program.to(tl.float32)
    first = program * BLOCK
    stride = programs * BLOCK

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for start in range(first, n, stride):
                columns = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
                tl.store(low_ptr + columns, slope * x + bias, mask=columns < n)
        with tlx.async_task(num_warps=WARPS):
            for start in range(first, n, stride):
                columns = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + columns, mask=columns < n, other=0.0).to(tl.float32)
                tl.store(high_ptr + columns, slope * x - bias, mask=columns < n)
