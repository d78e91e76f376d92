"""A second buffer that takes over the memory of a first one, once that has been read."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def aliased_buffer(x_ptr, y_ptr, rows, BLOCK_N: tl.constexpr, BLOCK_M: tl.constexpr):
    """Compute y = [2 * t, t] in float32, where t is the transpose of x.

    x has ``rows`` by BLOCK_N elements of 16 bits. The second buffer, of wider elements and half
    as many rows, lies in the first one's memory.
    """
    HALF: tl.constexpr = BLOCK_M // 2
    narrow = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_ptr), 1)
    wide = tlx.local_alloc((HALF, BLOCK_N), tl.float32, 1, reuse=narrow)
    n = tl.arange(0, BLOCK_N)

    for start in range(tl.program_id(0) * BLOCK_M, rows, tl.num_programs(0) * BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)
        x = tl.load(x_ptr + m[:, None] * BLOCK_N + n[None, :], mask=m[:, None] < rows, other=0.0)
        tlx.local_store(tlx.local_view(narrow, 0), x)
        flipped = tlx.local_load(tlx.local_trans(tlx.local_view(narrow, 0)))
        inside = m[None, :] < rows
        tl.store(
            y_ptr + n[:, None] * (2 * rows) + rows + m[None, :],
            flipped.to(tl.float32),
            mask=inside,
        )
        for part in tl.static_range(2):
            m = start + part * HALF + tl.arange(0, HALF)
            x = tl.load(
                x_ptr + m[:, None] * BLOCK_N + n[None, :], mask=m[:, None] < rows, other=0.0
            )
            # All threads must have read what this memory held before it is overwritten.
            tlx.local_store(tlx.local_view(wide, 0), x.to(tl.float32) * 2.0)
            doubled = tlx.local_load(tlx.local_trans(tlx.local_view(wide, 0)))
            inside = m[None, :] < rows
            tl.store(y_ptr + n[:, None] * (2 * rows) + m[None, :], doubled, mask=inside)
