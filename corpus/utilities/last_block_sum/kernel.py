"""A grid-wide sum in one launch: the program that finishes last adds up the others' parts."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def last_block_sum(
    x_ptr,
    parts_ptr,
    arrivals_ptr,
    sum_ptr,
    n,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    SCOPE: tl.constexpr,
):
    """Sum = x summed; parts and arrivals (zero at launch) are how programs meet."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.int32)
    for step in range(STEPS):
        offsets = (program * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < n, other=0)
    tl.store(parts_ptr + program, tl.sum(total))
    # The part must be visible to all before the arrival is, and the arrivals of the others
    # before their parts are read: a fence on both sides of a relaxed counter.
    tlx.fence(SCOPE)
    arrived = tl.atomic_add(arrivals_ptr, 1, sem="relaxed")
    tlx.fence(SCOPE)
    if arrived == PROGRAMS - 1:
        # One thread saw the last arrival; its fence must precede every thread's loads.
        tl.debug_barrier()
        which = tl.arange(0, PROGRAMS)
        # Around L1, which may still hold what was there before.
        parts = tl.load(parts_ptr + which, cache_modifier=".cg")
        tl.store(sum_ptr, tl.sum(parts))
