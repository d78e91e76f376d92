"""A wide accumulator is read out column slice by column slice."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def tmem_columns(
    a_ptr,
    b_ptr,
    c_ptr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STEPS: tl.constexpr,
    SLICE: tl.constexpr,
    NAME: tl.constexpr,
):
    """c[p] = a[p] @ b, tiles of 128 x BLOCK_N; a [p, 128, STEPS * BLOCK_K], b one row per k.

    SLICE columns at a time leave TMEM, which keeps few registers alive; each column is scaled
    by one more than its slice's number, to tell them apart.
    """
    a_tiles = tlx.local_alloc((128, BLOCK_K), tlx.dtype_of(a_ptr), tl.constexpr(2))
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_ptr), tl.constexpr(2))
    sums = tlx.local_alloc((128, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(tl.constexpr(2))
    rows = tl.program_id(0) * 128 + tl.arange(0, 128)
    columns = tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)

    for step in range(STEPS):
        buffer = step % 2
        # The product of two steps ago has read this buffer (the first two find it free).
        tlx.barrier_wait(tlx.local_view(done, buffer), ((step // 2) & 1) ^ 1)
        k = step * BLOCK_K + inner
        a = tl.load(a_ptr + rows[:, None] * (STEPS * BLOCK_K) + k[None, :])
        b = tl.load(b_ptr + k[:, None] * BLOCK_N + columns[None, :])
        tlx.local_store(tlx.local_view(a_tiles, buffer), a)
        tlx.local_store(tlx.local_view(b_tiles, buffer), b)
        tlx.fence_async_shared()
        tlx.async_dot(
            tlx.local_view(a_tiles, buffer),
            tlx.local_view(b_tiles, buffer),
            tlx.local_view(sums, 0),
            use_acc=step > 0,
            mBarriers=[tlx.local_view(done, buffer)],
            out_dtype=tl.float32,
        )
    last: tl.constexpr = STEPS - 1
    tlx.barrier_wait(tlx.local_view(done, last % 2), (last // 2) & 1)

    total = tlx.local_view(sums, 0)
    for number in tl.static_range(BLOCK_N // SLICE):
        if NAME == "subslice":
            part = tlx.subslice(total, number * SLICE, SLICE)
        else:
            part = tlx.local_slice(total, [0, number * SLICE], [128, SLICE])
        c = tlx.local_load(part) * (number + 1)
        at = number * SLICE + tl.arange(0, SLICE)
        tl.store(c_ptr + rows[:, None] * BLOCK_N + at[None, :], c.to(tlx.dtype_of(c_ptr)))
