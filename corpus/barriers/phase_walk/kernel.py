"""One barrier per direction, reused for every tile: its phase is the parity of the step."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def phase_walk(
    x_ptr,
    y_ptr,
    rows,
    n,
    BLOCK: tl.constexpr,
    ARRIVALS: tl.constexpr,
    COUNT: tl.constexpr,
):
    """Running sum of x over its ``rows`` rows, BLOCK columns per program; no warp groups.

    The group arrives ``ARRIVALS`` times, each counting for ``COUNT``, and then waits.
    """
    totals = tlx.local_alloc((BLOCK,), tl.int32, 1)
    total = tlx.local_view(totals, 0)
    done = tlx.alloc_barriers(1, ARRIVALS * COUNT)
    stored = tlx.local_view(done, 0)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < n
    tlx.local_store(total, tl.zeros((BLOCK,), tl.int32))

    for row in range(rows):
        x = tl.load(x_ptr + row * n + columns, mask=inside, other=0).to(tl.int32)
        tlx.local_store(total, tlx.local_load(total) + x)
        for _ in tl.static_range(ARRIVALS):
            tlx.barrier_arrive(stored, COUNT)
        tlx.barrier_wait(stored, row & 1)
        tl.store(y_ptr + row * n + columns, tlx.local_load(total), mask=inside)
