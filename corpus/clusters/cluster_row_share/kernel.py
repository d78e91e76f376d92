"""Rows longer than one CTA's share are scaled by their maximum, found together by a cluster."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cluster_row_share(
    x_ptr,
    y_ptr,
    n,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
    STEPS: tl.constexpr,
    CLUSTER: tl.constexpr,
):
    """Y = x / (largest magnitude in x's row); CTA ``rank`` holds columns rank * BLOCK_C up.

    Rows have n <= CLUSTER * BLOCK_C elements; a cluster handles STEPS blocks of BLOCK_R rows.
    """
    # shares[b * CLUSTER + r]: what rank r found in its columns, in round-robin half b.
    shares = tlx.local_alloc((BLOCK_R,), tl.float32, tl.constexpr(2 * CLUSTER))
    arrived = tlx.alloc_barriers(tl.constexpr(2))
    rank = tlx.cluster_cta_rank()
    cluster = tl.program_id(0) // CLUSTER
    columns = rank * BLOCK_C + tl.arange(0, BLOCK_C)
    # All barriers of the cluster are initialised before anyone signals one.
    tlx.cluster_barrier()

    for step in range(STEPS):
        half = step % 2
        rows = (cluster * STEPS + step) * BLOCK_R + tl.arange(0, BLOCK_R)
        offsets = rows[:, None] * n + columns[None, :]
        inside = (columns < n)[None, :]
        x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        mine = tl.max(tl.abs(x), axis=1)

        bar = tlx.local_view(arrived, half)
        tlx.barrier_expect_bytes(bar, CLUSTER * BLOCK_R * 4)
        # Everyone sends to everyone, itself included: one kind of completion to wait for.
        for other in tl.static_range(CLUSTER):
            tlx.async_remote_shmem_store(
                tlx.local_view(shares, half * CLUSTER + rank), mine, other, bar
            )
        tlx.barrier_wait(bar, (step // 2) & 1)

        largest = tlx.local_load(tlx.local_view(shares, half * CLUSTER))
        for other in tl.static_range(1, CLUSTER):
            share = tlx.local_load(tlx.local_view(shares, half * CLUSTER + other))
            largest = tl.maximum(largest, share)
        # No thread sends its next share before all have read this round's: whoever receives the
        # next share then knows that this half may be overwritten.
        tl.debug_barrier()
        tl.store(y_ptr + offsets, (x / largest[:, None]).to(tlx.dtype_of(y_ptr)), mask=inside)
