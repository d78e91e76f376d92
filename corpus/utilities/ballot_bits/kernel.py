"""A warp vote packs one predicate per lane into a bit mask."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def ballot_bits(x_ptr, limit, y_ptr, n, WIDTH: tl.constexpr, STEPS: tl.constexpr):
    """y[i] = the 32 predicates x > limit of i's group of 32 elements, one bit each.

    WIDTH is the number of threads, so that element i of a step is held by thread i.
    """
    for step in range(STEPS):
        offsets = (tl.program_id(0) * STEPS + step) * WIDTH + tl.arange(0, WIDTH)
        inside = offsets < n
        x = tl.load(x_ptr + offsets, mask=inside, other=0)
        # All lanes vote, also those past the end: their predicate is false.
        bits = tlx.vote_ballot_sync(0xFFFFFFFF, inside & (x > limit))
        tl.store(y_ptr + offsets, bits, mask=inside)
