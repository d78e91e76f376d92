"""A register count that the hardware cannot grant, which must be refused: no multiple of 8."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def refused_registers(x_ptr, BLOCK: tl.constexpr, REGISTERS: tl.constexpr):
    """Would store 1, and 2 by a second task with REGISTERS registers per thread."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(x_ptr + tl.arange(0, BLOCK), 1)
        with tlx.async_task(num_warps=4, num_regs=REGISTERS):
            tl.store(x_ptr + BLOCK + tl.arange(0, BLOCK), 2)
