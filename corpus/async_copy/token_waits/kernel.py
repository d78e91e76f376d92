"""Two operands copied by separate commit groups; waits with tokens, or without."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def token_waits(
    x_ptr,
    y_ptr,
    z_ptr,
    n,
    BLOCK: tl.constexpr,
    WITH_TOKENS: tl.constexpr,
):
    """Compute z = x - y for row ``program_id(0)``; a step's copies are two groups, x's first.

    With tokens, each wait names the group that it waits for and each load the wait that it needs.
    """
    x_ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), 2)
    y_ring = tlx.local_alloc((BLOCK,), tlx.dtype_of(y_ptr), 2)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n

    x_copy = tlx.async_load(x_ptr + row + offsets, tlx.local_view(x_ring, 0), mask=offsets < n)
    x_group = tlx.async_load_commit_group([x_copy])
    y_copy = tlx.async_load(y_ptr + row + offsets, tlx.local_view(y_ring, 0), mask=offsets < n)
    y_group = tlx.async_load_commit_group([y_copy])

    for step in range(tl.cdiv(n, BLOCK)):
        slot = (step + 1) % 2
        columns = (step + 1) * BLOCK + offsets
        x_copy = tlx.async_load(
            x_ptr + row + columns, tlx.local_view(x_ring, slot), mask=columns < n
        )
        x_next = tlx.async_load_commit_group([x_copy])
        y_copy = tlx.async_load(
            y_ptr + row + columns, tlx.local_view(y_ring, slot), mask=columns < n
        )
        y_next = tlx.async_load_commit_group([y_copy])

        slot = step % 2
        if WITH_TOKENS:
            # x may be read while its y is still under way: in flight are that and the next two.
            x_landed = tlx.async_load_wait_group(3, [x_group])
            x = tlx.local_load(tlx.local_view(x_ring, slot), token=x_landed)
            y_landed = tlx.async_load_wait_group(2, [y_group])
            y = tlx.local_load(tlx.local_view(y_ring, slot), token=y_landed)
            x_group = x_next
            y_group = y_next
        else:
            tlx.async_load_wait_group(2)
            x = tlx.local_load(tlx.local_view(x_ring, slot))
            y = tlx.local_load(tlx.local_view(y_ring, slot))
        columns = step * BLOCK + offsets
        tl.store(z_ptr + row + columns, x - y, mask=columns < n)
